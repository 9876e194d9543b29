"""What the server says and refuses by itself, its address and its key. No model runs."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request

from engine.config.serve import ServeSection
from engine.errors import ConfigError, RunError
from engine.events import (
    DecisionTaken,
)
from engine.serve import connections, http, listening
from engine.serve.guard import Guard
from engine.serve.http import SteeredServer
from engine.serve.key import ServerKey, server_key
from engine.serve.pending_request import Failed
from engine.serve.refused import Refused
from engine.serve.replies import decision_fields
from engine.serve.scheduler import STOPPING, Busy
from engine.serve.serve_stage import _default_levers
from engine.servers.refusal import is_about_content
from tests.exactly import exactly


def server(**section: Any) -> SteeredServer:
    model = SimpleNamespace(
        info=SimpleNamespace(context=10), tokenizer=SimpleNamespace(longest_token=3)
    )  # fmt: skip
    fits = [
        SimpleNamespace(lever="esm", fits=True, why=""),
        SimpleNamespace(lever="notes", fits=False, why="no run"),
    ]
    levers: Any = SimpleNamespace(model_name="tiny", model=model, fits=fits)
    queue: Any = SimpleNamespace(levers=levers)
    return SteeredServer(queue, ServeSection(**section), ServerKey("sk", "here"), ["esm"], 7)


def test_what_the_server_refuses_by_itself() -> None:
    one = server(max_in_flight=4)
    many: Any = SimpleNamespace(prompts=["x"] * 5, n=1)
    for asked, field in ((many, "prompt"), (SimpleNamespace(prompts=["x"], n=5), "n")):
        with pytest.raises(Refused) as refused:
            one._count(asked)
        assert refused.value.body["error"]["message"] == f"{field}: a request has at most 4 answers"
    assert one._count(SimpleNamespace(prompts=["x"] * 2, n=2)) == 4  # type: ignore[arg-type]
    for kind, prompt, says in (
        ("chat", [{"role": "user", "content": "x" * 20}, {"role": "user", "content": "y" * 11}], "31 characters"),
        ("completion", "x" * 31, "31 characters"), ("completion", [1] * 11, "11 tokens"),
    ):  # fmt: skip
        asked: Any = SimpleNamespace(kind=kind, prompts=[prompt])
        with pytest.raises(Refused) as refused:
            one._refuse_hopeless(asked)
        error = refused.value.body["error"]
        assert error["message"] == f"the prompt has {says}, this model's maximum context length is 10 tokens"
        assert error["code"] == "context_length_exceeded" and is_about_content(error["message"])
        assert error["param"] == ("messages" if kind == "chat" else "prompt")
    for prompt in ("x" * 30, [1] * 10):
        one._refuse_hopeless(SimpleNamespace(kind="completion", prompts=[prompt]))  # type: ignore[arg-type]
    assert one._new_name() == f"{one._began:x}-1" and one._new_name().endswith("-2")
    one._scheduler.reserve = lambda places: (_ for _ in ()).throw(Busy(9))  # type: ignore[method-assign]
    with pytest.raises(Refused) as refused:
        one._reserve(1)
    assert refused.value.body["error"] == {
        "message": "all places are taken", "type": "rate_limit_error", "param": None, "code": "server_busy",
    }  # fmt: skip
    assert (refused.value.status, refused.value.headers) == (429, {"Retry-After": "9"})


async def test_a_body_that_does_not_come_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ServeSection, "client_timeout", 0.01)
    request = Request(
        {"type": "http", "method": "POST", "headers": [(b"content-type", b"application/json")]},
        asyncio.Event().wait,  # type: ignore[arg-type]
    )
    with pytest.raises(Refused) as refused:
        await server()._body(request)
    assert refused.value.status == 408 and refused.value.headers == {"Connection": "close"}
    assert refused.value.body["error"]["message"] == "the request did not come in time"


def test_what_the_server_says_of_its_model() -> None:
    one = server()
    assert one._described_model() == {
        "id": "tiny", "object": "model", "created": one._began, "owned_by": "steer-tui", "max_model_len": 10,
        "steer": {"usual": ["esm"], "levers": [
            {"lever": "esm", "fits": True, "why": ""}, {"lever": "notes", "fits": False, "why": "no run"},
        ]},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("header", "opens"),
    [
        ("Bearer sk", True),
        ("bearer  sk", True),
        ("Basic sk", False),
        ("sk", False),
        ("", False),
        ("Bearer s", False),
    ],
)
def test_the_key_comes_as_a_bearers(header: str, opens: bool) -> None:
    asked: Any = SimpleNamespace(headers={"authorization": header})
    if opens:
        server()._check_key(asked)
        return
    with pytest.raises(Refused) as refused:
        server()._check_key(asked)
    assert (refused.value.status, refused.value.headers) == (401, {"WWW-Authenticate": "Bearer"})
    assert refused.value.body["error"] == {
        "message": "the key is missing or wrong: send `Authorization: Bearer KEY`", "type": "authentication_error",
        "param": None, "code": "invalid_api_key",
    }  # fmt: skip


def test_failures_as_answers() -> None:
    def told(refused: Any) -> tuple[int, Any]:
        return refused.status_code, json.loads(refused.body)["error"]

    def error(message: str, kind: str, code: str | None) -> dict[str, Any]:
        return {"message": message, "type": kind, "param": None, "code": code}

    assert told(http._failure(STOPPING).response) == (
        503, error("the server is stopping", "server_error", "stopping")
    )  # fmt: skip
    assert told(http._failure(Failed("no memory")).response) == (
        500,
        error("no memory", "server_error", None),
    )
    asked: Any = SimpleNamespace(method="GET", url=SimpleNamespace(path="/v1/completions"))
    nothing = "nothing is here: /v1/chat/completions, /v1/completions and /v1/models are"
    assert told(http._unknown(asked, HTTPException(404))) == (
        404,
        error(nothing, "invalid_request_error", None),
    )
    wrong = "GET does not go with /v1/completions"
    assert told(http._unknown(asked, HTTPException(405))) == (
        405,
        error(wrong, "invalid_request_error", None),
    )


@pytest.mark.parametrize(
    ("headers", "refused"),
    [
        ({"content-length": "5", "transfer-encoding": "chunked"},
         (400, "a request has either Content-Length or Transfer-Encoding")),
        ({"content-length": "101"}, (413, "a request has at most 100 bytes")), ({"content-length": "100"}, None),
        ({"host": "page.org"},
         (403, "without a key this server answers only under its own address: start it with a key")),
        ({"origin": "http://10.0.0.7"},
         (403, "without a key this server does not answer pages of a browser: start it with a key")),
        ({"origin": "http://127.0.0.1:3000"}, None), ({"host": "10.0.0.7:80"}, None), ({"host": "[::1]:80"}, None),
        ({"host": "a.localhost"}, None), ({"host": "BOX:80"}, None), ({"host": ""}, (403, "")),
    ],
)  # fmt: skip
def test_what_is_refused_unread(headers: dict[str, str], refused: tuple[int, str] | None) -> None:
    nobody: Any = None
    guard = Guard(nobody, "Box", open=True, largest=100, patience=1.0)
    found = guard._refused(Headers({"host": "localhost"} | headers))
    assert found == refused if refused is None or refused[1] else (found or (0, ""))[0] == refused[0]
    if refused and refused[0] == 403:
        keyed = Guard(nobody, "Box", open=False, largest=100, patience=1.0)
        assert keyed._refused(Headers({"host": "localhost"} | headers)) is None


def test_an_address_that_cannot_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    first = listening.bound("127.0.0.1", 0)
    port = first.getsockname()[1]
    assert listening.url_of(first, "127.0.0.1") == f"http://127.0.0.1:{port}/v1"
    assert listening.url_of(first, "::1") == f"http://[::1]:{port}/v1"
    first.listen()
    taken = (
        f"the port is taken (127.0.0.1:{port}): choose another port (`--port`, serve.port; 0: any free one)"
    )
    with pytest.raises(RunError, match=exactly(taken)):
        listening.bound("127.0.0.1", port)
    first.close()
    nowhere = "nothing can listen there: … (192.0.2.1:0): choose another address"
    with pytest.raises(RunError, match=exactly(nowhere)):
        listening.bound("192.0.2.1", 0)


@pytest.mark.parametrize(
    ("soft", "hard", "allowed"),
    [(1024, -1, 8192), (1024, 4096, 4096), (10_000, -1, 8192), (-1, -1, 8192), (8192, 8192, 8192)],
)
def test_half_of_the_files_are_for_connections(
    monkeypatch: pytest.MonkeyPatch, soft: int, hard: int, allowed: int
) -> None:
    asked: list[Any] = []
    limits = SimpleNamespace(
        RLIMIT_NOFILE=7, RLIM_INFINITY=-1, getrlimit=lambda kind: (soft, hard),
        setrlimit=lambda *of: asked.append(of),
    )  # fmt: skip
    monkeypatch.setattr(connections, "resource", limits)
    assert connections.allow_many_files() == allowed
    assert asked == ([(7, (allowed, hard))] if 0 <= soft < allowed else [])
    monkeypatch.setattr(connections, "allow_many_files", lambda: 100)
    made = connections.patient(2.5)
    assert (made.patience, made.most, made.waiting) == (2.5, 50, {})
    monkeypatch.setattr(connections, "allow_many_files", lambda: 8192)
    assert connections.patient(2.5).most == 1024


def test_where_the_key_comes_from(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert server_key(ServeSection(key_env="none"), tmp_path) == ServerKey(None, "no key is asked for")
    monkeypatch.setenv("MY_KEY", " sk-1 ")
    found = server_key(ServeSection(key_env="MY_KEY"), tmp_path)
    assert found == ServerKey("sk-1", "environment variable MY_KEY") and found.opens("sk-1")
    made = server_key(ServeSection(), tmp_path)
    file = tmp_path / "serve" / "key"
    assert made == ServerKey(file.read_text().strip(), str(file), True) and not made.opens("sk-1")
    assert made.secret is not None and made.secret.startswith("sk-steer-") and len(made.secret) == 41
    assert oct(os.stat(file).st_mode)[-3:] == "600" and server_key(ServeSection(), tmp_path).made is False
    for value in ("", "a b"):
        monkeypatch.setenv("MY_KEY", value)
        wrong = (
            "environment variable MY_KEY: expected the key of the server, without spaces (configuration): "
            "correct this value"
        )
        with pytest.raises(ConfigError, match=exactly(wrong)):
            server_key(ServeSection(key_env="MY_KEY"), tmp_path)
    section = SimpleNamespace(key_env="sk-Abc")
    no_name = (
        "serve.key_env: expected the name of an environment variable, not a key (configuration): correct this "
        "value"
    )
    with pytest.raises(ConfigError, match=exactly(no_name)):
        server_key(section, tmp_path)  # type: ignore[arg-type]


def test_the_levers_of_a_request_that_does_not_choose() -> None:
    fits = [SimpleNamespace(lever="esm", why=""), SimpleNamespace(lever="notes", why="no run has a memory")]
    levers: Any = SimpleNamespace(names=["esm", "deltas"], fits=fits)
    assert _default_levers(ServeSection(), levers) == ["esm", "deltas"]
    assert _default_levers(ServeSection(levers=["deltas"]), levers) == ["deltas"]
    wrong = (
        "serve.levers: found notes (no run has a memory), expected of esm, deltas (configuration): correct this "
        "value"
    )
    with pytest.raises(ConfigError, match=exactly(wrong)):
        _default_levers(ServeSection(levers=["notes"]), levers)
    levers.names = []
    with pytest.raises(ConfigError, match=exactly(wrong.replace("esm, deltas (", "none ("))):
        _default_levers(ServeSection(levers=["notes"]), levers)


def test_a_decision_in_a_few_fields_also_where_nothing_is_added() -> None:
    taken = DecisionTaken(method="esm", example="e", m=3, gate="chosen", chosen="w1", layer=2, alpha=0.0,
                          committed_tokens=7, probe_tokens=21)  # fmt: skip
    assert decision_fields(taken) == {
        "segment": 3, "gate": "chosen", "entry": "w1", "name": "w1", "layer": 2, "alpha": 0.0, "tokens": 7,
        "probe_tokens": 21,
    }  # fmt: skip
    assert decision_fields(DecisionTaken(method="esm", example="e", m=1, gate="null"))["name"] is None


@pytest.mark.parametrize(
    ("headers", "message", "closes"),
    [
        ({"content-length": "5"}, None, True), ({"content-length": "5"}, {"type": "http.request"}, False),
        ({"content-length": "5"}, {"type": "http.request", "more_body": True}, True), ({}, None, False),
        ({"content-length": "0"}, None, False), ({"transfer-encoding": "chunked"}, None, True),
    ],
)  # fmt: skip
async def test_an_answer_before_the_end_of_a_request_closes_the_connection(
    headers: dict[str, str], message: dict[str, Any] | None, closes: bool
) -> None:
    sent: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if message is not None:
            await receive()
        await send({"type": "http.response.start", "headers": [(b"a", b"b")]})
        await send({"type": "http.response.body", "headers": []})

    async def receive() -> Any:
        return message

    async def send(one: Any) -> None:
        sent.append(one["headers"])

    raw = [(name.encode(), value.encode()) for name, value in {"host": "x", **headers}.items()]
    guard = Guard(app, "Box", open=False, largest=100, patience=5.0)
    await guard({"type": "http", "headers": raw}, receive, send)
    assert sent == [[(b"a", b"b"), *([(b"connection", b"close")] if closes else [])], []]


async def test_who_has_left_while_it_waited_is_not_prepared() -> None:
    async def gone() -> bool:
        return True

    one = server()
    asked: Any = SimpleNamespace(is_disconnected=gone)
    with pytest.raises(Refused) as refused:
        await one._pending(asked, SimpleNamespace(prompts=[], n=1), SimpleNamespace())  # type: ignore[arg-type]
    assert (refused.value.status, refused.value.body["error"]["message"]) == (400, "the client has gone")


def test_the_server_logs_no_request_and_names_no_software(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []

    class Stands:
        should_exit = False

        def __init__(self, config: object) -> None:
            pass

        def run(self, sockets: object) -> None:
            pass

    uvicorn = SimpleNamespace(Config=lambda app, **fields: asked.append(fields), Server=Stands)
    monkeypatch.setattr(listening, "uvicorn", uvicorn)
    monkeypatch.setattr(listening, "patient", lambda patience: f"patient {patience}")
    app: Any = None
    with listening.serving(app, listening.bound("127.0.0.1", 0), 2.5):
        pass
    assert asked == [{
        "log_config": None, "access_log": False, "lifespan": "off", "loop": "asyncio", "http": "patient 2.5",
        "ws": "none", "server_header": False, "timeout_keep_alive": 30, "timeout_graceful_shutdown": 2, "backlog": 1024,
    }]  # fmt: skip


def test_who_waits_on_a_connection_and_for_how_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """From its beginning, and again from the end of each answer, while it stays open; the oldest of too many goes."""
    for name in ("connection_made", "on_response_complete", "handle_events"):
        monkeypatch.setattr(connections.H11Protocol, name, lambda self, *_: None)
    monkeypatch.setattr(connections, "allow_many_files", lambda: 4)
    kind = connections.patient(2.5)
    timers: list[Any] = []
    dropped: list[str] = []

    def call_later(seconds: float, drop: Any) -> Any:
        timers.append([seconds, "runs"])
        return SimpleNamespace(cancel=lambda timer=timers[-1]: timer.append("cancelled"))

    def made(name: str) -> Any:
        one: Any = object.__new__(kind)
        one.loop = SimpleNamespace(call_later=call_later)
        one.transport = SimpleNamespace(is_closing=lambda: False, abort=lambda: dropped.append(name))
        one.cycle = SimpleNamespace(response_complete=True)
        return one

    first, second, third = made("a"), made("b"), made("c")
    for one in (first, second):
        one.connection_made(one.transport)
    assert list(kind.waiting) == [first, second] and timers == [[2.5, "runs"]] * 2 and dropped == []
    third.connection_made(third.transport)
    assert (
        list(kind.waiting) == [second, third] and dropped == ["a"] and timers[0] == [2.5, "runs", "cancelled"]
    )
    second.handle_events()
    assert second in kind.waiting, "nothing has begun"
    monkeypatch.setattr(connections.H11Protocol, "handle_events", lambda self: setattr(self, "cycle", "new"))
    second.handle_events()
    assert list(kind.waiting) == [third]
    second.cycle = SimpleNamespace(response_complete=False)
    second.on_response_complete()
    assert list(kind.waiting) == [third], "the answer has not ended"
    second.cycle.response_complete = True
    second.on_response_complete()
    assert list(kind.waiting) == [third, second]
    third.transport.is_closing = lambda: True
    third._end_waiting()
    third.cycle = second.cycle
    third.on_response_complete()
    assert list(kind.waiting) == [second]
