"""What a stranger may send: it is refused, it costs others nothing, and no page of a browser gets at the server."""

from __future__ import annotations

import http.client
import json
import logging
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from engine.events import Notice
from engine.lm.transformers.model import TransformersModel
from engine.serve import connections, listening, parsed_request
from engine.serve.guard import Guard
from engine.serve.http import EventStream
from engine.serve.listening import bound, serving
from engine.serve.parsed_request import Kind
from tests.engine.serve.conftest import Served

CHAT = "/v1/chat/completions"
BODY = '{"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1}'


async def _well(request: Request) -> Response:
    return JSONResponse({"status": "ok"})


@contextmanager
def small_server(patience: float = 60, open: bool = True) -> Iterator[int]:
    """The server's connections and guard before a small application."""
    app = Guard(Starlette(routes=[Route("/", _well, methods=["GET", "POST"])]), "127.0.0.1", open, 1000, 60)
    with bound("127.0.0.1", 0) as opened, serving(app, opened, patience):
        yield opened.getsockname()[1]


def connected(port: int, sent: str) -> socket.socket:
    client = socket.create_connection(("127.0.0.1", port), timeout=60)
    client.sendall(sent.encode())
    return client


def answer(port: int, sent: str) -> bytes:
    """All that the server says until it closes the connection."""
    with connected(port, sent) as client:
        return b"".join(iter(lambda: client.recv(65536), b""))


def status(port: int, *headers: str, body: str = "") -> int:
    lines = [f"{'POST' if body else 'GET'} / HTTP/1.1", *headers, "Connection: close", "", body]
    return int(answer(port, "\r\n".join(lines)).split()[1])


def test_a_request_that_never_begins_is_left() -> None:
    with small_server(patience=0.05) as port:
        for begun in ("", "GET / HT", "GET / HTTP/1.1\r\nHost: a\r\nX"):
            with connected(port, begun) as client, pytest.raises((ConnectionError, StopIteration)):
                next(iter(lambda: client.recv(100), b""))


def test_a_flood_of_half_requests_shuts_nobody_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each begun request takes the place of the oldest; a whole one is answered at once."""
    monkeypatch.setattr(connections, "MOST_WAITING", 4)
    with small_server() as port:
        flood = [connected(port, "GET / HTTP/1.1\r\nX") for _ in range(40)]
        assert status(port, "Host: localhost") == 200
        with pytest.raises((ConnectionError, StopIteration)):
            next(iter(lambda: flood[0].recv(100), b""))
        for client in flood:
            client.close()


HALF, REST = "GET / HTTP/1.1\r\nHost: localhost\r\n", "Connection: close\r\n\r\n"


def goes_on(client: socket.socket) -> bool:
    """Whether the rest of a begun request is still answered."""
    try:
        client.sendall(REST.encode())
        return client.recv(100).startswith(b"HTTP/1.1 200")
    except ConnectionError:
        return False


@pytest.mark.parametrize("second_leaves", [False, True])
def test_one_connection_too_many_ends_the_oldest_that_still_waits(
    monkeypatch: pytest.MonkeyPatch, second_leaves: bool
) -> None:
    """Of three where two may wait the first; whoever has left takes no place."""
    made: list[type[connections.PatientProtocol]] = []
    real = connections.patient
    monkeypatch.setattr(connections, "MOST_WAITING", 2)
    monkeypatch.setattr(listening, "patient", lambda patience: made.append(real(patience)) or made[-1])

    def wait_for(count: int) -> None:
        until = time.monotonic() + 60
        while len(made[0].waiting) != count:
            assert time.monotonic() < until, f"{len(made[0].waiting)} wait"
            time.sleep(0.005)

    with small_server() as port:
        first = connected(port, HALF)
        wait_for(1)
        second = connected(port, HALF)
        wait_for(2)
        if second_leaves:
            second.close()
            wait_for(1)
        third = connected(port, HALF)
        wait_for(2)
        assert goes_on(third)
        assert goes_on(first) == second_leaves
        assert second_leaves or goes_on(second)


def test_after_an_answer_a_connection_has_to_begin_anew() -> None:
    said = b""
    with (
        small_server(patience=0.1) as port,
        connected(port, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\nX") as client,
        suppress(ConnectionError),
    ):
        while piece := client.recv(65536):
            said += piece
    assert b"200 OK" in said


def test_a_form_that_a_proxy_may_read_otherwise_is_refused_and_nothing_behind_it_is_read() -> None:
    behind = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
    both = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    with small_server() as port:
        said = answer(port, both + behind)
    assert said.startswith(b"HTTP/1.1 400") and said.count(b"HTTP/1.1") == 1
    assert b"a request has either Content-Length or Transfer-Encoding" in said


def test_a_body_that_is_announced_too_large_is_not_waited_for() -> None:
    with small_server() as port:
        assert status(port, "Host: localhost", "Content-Length: 1000", body="x" * 1000) == 200
        assert status(port, "Host: localhost", "Content-Length: 1001", body="x") == 413
        assert status(port, "Host: localhost", "Content-Length: 99999999999999999999", body="x") == 413
        said = answer(port, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1001\r\n\r\nx")
        assert b'"a request has at most 1000 bytes"' in said


def test_why_a_stranger_is_refused() -> None:
    with small_server() as port:
        host, page = (
            answer(port, f"GET / HTTP/1.1\r\n{lines}\r\n\r\n")
            for lines in ("Host: evil.example", "Host: localhost\r\nOrigin: https://evil.example")
        )
    only = b'"without a key this server answers only under its own address: start it with a key"'
    assert only in host
    assert b'"without a key this server does not answer pages of a browser: start it with a key"' in page


@pytest.mark.parametrize(
    ("host", "expected"),
    (
        ("localhost", 200), ("127.0.0.1:8899", 200), ("[::1]:8899", 200), ("a.localhost:1", 200), ("10.0.0.7", 200),
        ("evil.example", 403), ("evil.example:8899", 403), ("127.0.0.1.evil.example", 403), ("localhost.evil", 403),
        ("", 403), ("[evil", 403),
    ),
)  # fmt: skip
def test_without_a_key_a_page_cannot_reach_it_under_its_own_name(host: str, expected: int) -> None:
    with small_server() as port:
        assert status(port, f"Host: {host}") == expected


def test_without_a_key_a_page_is_not_answered_but_an_own_one() -> None:
    with small_server() as port:
        assert status(port, "Host: localhost", "Origin: https://evil.example") == 403
        assert status(port, "Host: localhost", "Origin: null") == 403
        assert status(port, "Host: 127.0.0.1", "Origin: http://203.0.113.5") == 403
        assert status(port, "Host: 127.0.0.1", "Origin: http://[2001:db8::1]:80") == 403
        assert status(port, "Host: localhost", "Origin: http://localhost:3000") == 200
        assert status(port, "Host: localhost", "Origin: http://127.0.0.1:3000") == 200


def test_with_a_key_any_name_will_do() -> None:
    """The key is what a page does not have."""
    with small_server(open=False) as port:
        assert status(port, "Host: models.example", "Origin: https://models.example") == 200


def test_the_log_tells_of_strangers_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "uvicorn.error"), small_server() as port:
        for _ in range(20):
            assert answer(port, "nonsense\r\n\r\n").startswith(b"HTTP/1.1 400")
    assert sum("Invalid HTTP request" in record.getMessage() for record in caplog.records) == 1


def test_a_warning_is_logged_again_a_minute_after_it_was_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those in between put that off no further. What differs behind a hundred letters is the same warning."""
    now = [0.0]
    monkeypatch.setattr(connections, "time", SimpleNamespace(monotonic=lambda: now[0]))
    throttled = connections.ThrottledWarnings()

    def logged(seconds: float, text: str) -> bool:
        now[0] = seconds
        return throttled.filter(logging.LogRecord("uvicorn.error", 30, "", 1, text, None, None))

    passed = [at for at in (0.0, 30.0, 59.5, 60.0, 119.5, 120.0) if logged(at, "bad")]
    assert passed == [0.0, 60.0, 120.0]
    long = "x" * 99
    assert [logged(130.0, long + end) for end in ("ab", "ac", "b")] == [True, False, True]


@pytest.mark.parametrize(
    "body",
    (
        BODY.replace("Hi", "\\ud800"), BODY.replace("1}", '1, "stop": "\\udfff"}'), BODY.replace("1}", "NaN}"),
        BODY.replace("1}", f"{'9' * 5000}}}"), "[" * 10_000, '"x"', "\ufeff" + BODY,
    ),
)  # fmt: skip
def test_what_no_text_may_hold_is_refused(served: Served, body: str) -> None:
    got, _, said = served.post(CHAT, body.encode())
    assert got == 400 and said["error"]["type"] == "invalid_request_error"


def test_the_lowest_temperature_is_greedy(served: Served) -> None:
    question = "Omar has 4 toys. Then Omar makes 1. How many toys does Omar have now?"
    texts = [
        served.ask(question, max_tokens=8, temperature=t, seed=1)["choices"][0] for t in (0, 1e-308, 5e-324)
    ]
    assert texts[0] == texts[1] == texts[2]


def test_no_access_is_given_to_pages(served: Served) -> None:
    """A page that asks whether it may send is not told that it may."""
    import http.client

    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=60)
    asked = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    connection.request("OPTIONS", CHAT, headers=asked)
    reply = connection.getresponse()
    assert reply.status == 405 and json.loads(reply.read())["error"]
    assert not any(name.lower().startswith("access-control") for name, _ in reply.getheaders())
    connection.close()


def test_a_body_is_not_taken_in_after_its_answer() -> None:
    """A stranger without the key could go on sending for ever."""
    head = "POST /nowhere HTTP/1.1\r\nHost: localhost\r\n"
    with small_server() as port:
        for length in (
            "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
            "Content-Length: 900\r\n\r\nhello",
        ):
            said = answer(port, head + length)
            assert said.startswith(b"HTTP/1.1 404") and b"connection: close" in said.lower()


def test_a_body_is_not_taken_in_without_the_key(served: Served) -> None:
    head = f"POST {CHAT} HTTP/1.1\r\nHost: localhost\r\n"
    said = answer(served.port, head + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
    assert said.startswith(b"HTTP/1.1 401") and b"connection: close" in said.lower()


def test_who_stops_reading_a_stream_is_left() -> None:
    """The stream is ended after the patience, and its request is cancelled."""
    cancelled = threading.Event()

    async def pieces() -> AsyncIterator[bytes]:
        while True:
            yield b"x" * (1 << 20)

    async def stream(request: Request) -> Response:
        return EventStream(pieces(), cancelled.set)

    app = Guard(Starlette(routes=[Route("/", stream)]), "127.0.0.1", True, 1000, 0.2)
    begun = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with (
        bound("127.0.0.1", 0) as opened,
        serving(app, opened, 60),
        connected(opened.getsockname()[1], begun) as client,
    ):
        assert client.recv(8) == b"HTTP/1.1"
        assert cancelled.wait(20)


def test_a_connection_is_kept_after_a_whole_request() -> None:
    with small_server() as port:
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        for _ in range(2):
            client.request("POST", "/nowhere", b"")
            reply = client.getresponse()
            assert (reply.status, reply.getheader("connection")) == (404, None)
            reply.read()
            assert client.sock is not None
        client.close()


@pytest.mark.parametrize(("host", "warned"), [("0.0.0.0", 1), ("127.0.0.1", 0)])
def test_who_lets_anybody_in_is_warned(
    full_run: Path, embedded: TransformersModel, tmp_path: Path, served: Served, host: str, warned: int
) -> None:
    """And its server still answers under no name that a page of a browser can have."""
    between = embedded.between
    try:
        other = Served(full_run, tmp_path, embedded, f"serve.host={host}", "serve.key_env=none")
        said = [(notice.level, notice.text) for notice in other.of(Notice)]
        assert (
            said
            == [("warning", f"anybody who reaches {host} can use this server: it asks for no key")] * warned
        )
        assert other.post(CHAT, json.loads(BODY))[0] == 200
        assert other.post(CHAT, json.loads(BODY), Host="evil.example")[0] == 403
        other.stop()
    finally:
        embedded.between = between


def test_a_stranger_s_body_is_not_read_on(served: Served) -> None:
    """It is told once, and its connection is closed: what it goes on to send meets nobody."""
    head = f"POST {CHAT} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer x\r\nTransfer-Encoding: chunked\r\n\r\n"
    with connected(served.port, head + "5\r\nhello\r\n") as client:
        said = b"".join(iter(lambda: client.recv(65536), b""))
        assert said.startswith(b"HTTP/1.1 401") and b"connection: close" in said.lower()
        with pytest.raises(ConnectionError):
            for _ in range(200):
                client.sendall(b"5\r\nhello\r\n" * 10_000)


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("chat", {"messages": [{"role": "user", "content": [0] * 5000}]}),
        ("completion", {"prompt": [0.5] * 5000}),
        ("completion", {"prompt": [*["a"] * 5000, []]}),
        ("completion", {"prompt": [[0.5] * 100] * 50}),
        ("completion", {"prompt": "a", "stop": [1] * 5000}),
    ],
)
def test_a_long_list_has_one_error_not_one_for_each_part(
    monkeypatch: pytest.MonkeyPatch, kind: Kind, body: dict[str, Any]
) -> None:
    """A request of 1 MB would otherwise take a gigabyte to refuse."""
    counts: list[int] = []
    real = parsed_request._bad_field

    def bad_field(form: Any, error: Any) -> Any:
        counts.append(error.error_count())
        return real(form, error)

    monkeypatch.setattr(parsed_request, "_bad_field", bad_field)
    with pytest.raises(parsed_request.Refused):
        parsed_request.parse_request(kind, body, Any, [], 10)  # type: ignore[arg-type]
    assert counts and counts[0] <= 20
