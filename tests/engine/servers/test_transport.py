"""What a hostile server, or a proxy of the environment, could do to a request: endless bodies, and eavesdropping."""

from __future__ import annotations

import gzip
import json
import threading
import time
import tracemalloc
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from engine.config.models.openai import OpenAISection
from engine.servers.client import OpenAIClient, ServerFailed
from engine.servers.completion import Reply, json_object, read_completion, usable_json
from engine.servers.http import Http, HttpAnswer
from engine.servers.known_servers import KnownServers
from engine.servers.proxy import proxy_host, proxy_of
from engine.servers.transport import LARGEST_BODY, BodyRefused, BoundedTransport, _Bounded, httpx
from tests.exactly import exactly
from tests.misbehaving_server import misbehaving_server

MESSAGES: Any = [{"role": "user", "content": "private words"}]


def completion(text: str) -> bytes:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return json.dumps({"id": "x", "object": "chat.completion", "choices": [choice]}).encode()


@contextmanager
def serving(
    body: bytes, encoding: str = "", status: int = 200, endless: bool = False, charset: str = ""
) -> Iterator[Any]:
    """A server that answers everything with `body`, again and again if `endless`."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            server.heard.append((self.path, dict(self.headers)))
            self.send_response(status)
            if encoding:
                self.send_header("Content-Encoding", encoding)
            if charset:
                self.send_header("Content-Type", f"application/json; charset={charset}")
            if not endless:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            try:
                self.wfile.write(body)
                while endless:
                    self.wfile.write(body)
            except OSError:
                pass
            self.close_connection = True

        do_GET = do_POST

        def log_message(self, format: str, *args: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        heard: list[Any] = []

    server = Server(("127.0.0.1", 0), Handler)
    server.heard = []
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def address(server: Any) -> str:
    return f"http://127.0.0.1:{server.server_address[1]}/v1"


def client(url: str, **more: Any) -> OpenAIClient:
    section = OpenAISection(
        base_url=url, api_key_env="none", retries=0, timeout=20, max_tokens=100, concurrency=1
    )
    return OpenAIClient(section, "here", **more)


def test_a_key_that_comes_back_escaped_is_in_no_answer_and_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", "sk-geheim/12345678")
    said = json.dumps({"reasoning": "sk-geheim/12345678"}).replace("/", "\\/").replace("s", "\\u0073")
    for status in (200, 400):
        with serving(completion(said), status=status) as server:
            section = OpenAISection(base_url=address(server), api_key_env="TEST_KEY", retries=0)
            asking = OpenAIClient(section, "here")
            try:
                found = str(json_object(asking.complete(MESSAGES)))
            except ServerFailed as error:
                found = str(error)
            assert "geheim" not in found and "12345678" not in found


# ---------------------------------------------------------------- bodies


BOMB = gzip.compress(completion("a" * (64 << 20)))


@pytest.mark.parametrize("status", [200, 400, 500])
@pytest.mark.parametrize(
    ("body", "encoding", "endless", "why"),
    [
        (BOMB, "gzip", False, "is larger than 4 MiB"),
        (gzip.compress(BOMB), "gzip, gzip", False, "is packed as `gzip, gzip`, which was not asked for"),
        (b"x", "br", False, "is packed as `br`, which was not asked for"),
        (b"x" * 99, "gzip", False, "cannot be unpacked: …"),
        (b" " * (1 << 20), "", True, "is larger than 4 MiB"),
    ],
    ids=["bomb", "bomb in a bomb", "another packing", "no gzip", "endless"],
)
def test_a_body_has_a_limit_also_unpacked(
    body: bytes, encoding: str, endless: bool, why: str, status: int
) -> None:
    """One attempt, one reason, and no memory for what is not wanted."""
    with serving(body, encoding, status, endless) as server:
        asking = client(address(server))
        tracemalloc.start()
        began = time.monotonic()
        with pytest.raises(
            ServerFailed,
            match=exactly(
                f"the answer {why} (here: gpt-4o at http://127.0.0.1:…/v1): check that the server answers, the "
                "model's name; "
                "`steer-tui doctor --server` helps"
            ),
        ):
            asking.complete(MESSAGES)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert len(server.heard) == 1 and time.monotonic() - began < 15
    assert peak < 100 << 20
    assert server.heard[0][1]["Accept-Encoding"] == "identity"


def test_a_body_of_many_small_parts_takes_little_memory() -> None:
    body = b'{"choices": [' + b"{}," * (LARGEST_BODY // 3 - 10) + b"{}]}"
    with serving(body) as server:
        asking = client(address(server))
        tracemalloc.start()
        with pytest.raises(
            ServerFailed,
            match=exactly(
                "the answer is not a chat completion (1 attempt) (here: gpt-4o at http://127.0.0.1:…/v1): check that"
                " the server answers, the model's name; `steer-tui doctor --server` helps"
            ),
        ):
            asking.complete(MESSAGES)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    # 107 MB; twice that where the collector has not come yet to what was read first.
    assert len(body) < LARGEST_BODY and peak < 256 << 20


@pytest.mark.parametrize(
    ("encoding", "pack"),
    [("gzip", gzip.compress), ("GZip", gzip.compress), ("x-gzip", gzip.compress), ("identity", bytes)],
)
def test_a_packed_answer_of_decent_size_is_read(encoding: str, pack: Callable[[bytes], bytes]) -> None:
    """`identity`: not packed, in so many words."""
    with serving(pack(completion("Hello.")), encoding) as server:
        assert client(address(server)).complete(MESSAGES).text == "Hello."


@pytest.mark.parametrize("status", [200, 400, 500])
@pytest.mark.parametrize(
    "charset",
    [
        "punycode",
        "zlib",
        "zip",
        "bz2",
        "hex",
        "base64",
        "rot13",
        "uu",
        "quopri",
        "idna",
        "utf-7",
        "utf-16",
        '"x"',
    ],
)
def test_a_body_is_utf8_whatever_codec_its_header_names(charset: str, status: int) -> None:
    """Some take time that grows with the square of the length, and hold up everybody's requests; some are no text."""
    body = completion("fünf" + "x" * 380) if status == 200 else "Grüße ".encode() * 200_000
    began = time.process_time()
    with serving(body, status=status, charset=charset) as server:
        if status == 200:
            assert client(address(server)).complete(MESSAGES).text.startswith("fünfxxx")
        else:
            with pytest.raises(ServerFailed, match=rf"\({status}\): Grüße"):
                client(address(server)).complete(MESSAGES)
    assert time.process_time() - began < 10


def test_a_byte_order_mark_is_passed_over() -> None:
    """Real proxies send one."""
    with serving(b"\xef\xbb\xbf" + completion("five")) as server:
        assert client(address(server)).complete(MESSAGES).text == "five"
        assert Http(address(server), "", 20).get("/models").body["object"] == "chat.completion"
    refusal = b'\xef\xbb\xbf{"error": {"message": "too hot"}}'
    with (
        serving(refusal, status=400) as server,
        pytest.raises(
            ServerFailed,
            match=exactly(
                "the server refused the request (400): too hot (here: gpt-4o at http://127.0.0.1:…/v1): check that "
                "the server answers, the model's name; `steer-tui doctor --server` helps"
            ),
        ),
    ):
        client(address(server)).complete(MESSAGES)


def test_more_text_than_was_asked_for_is_no_answer() -> None:
    """100 tokens hold no 10,000 characters; a reason of 10 MB would stand in the log for good."""
    with (
        serving(completion("word " * 2000)) as server,
        pytest.raises(
            ServerFailed,
            match=exactly(
                "the reply has 10,000 characters, more than 100 tokens can hold (1 attempt) (here: gpt-4o at "
                "http://127.0.0.1:…/v1): check that the server answers, the model's name; `steer-tui doctor --server`"
                " helps"
            ),
        ),
    ):
        client(address(server)).complete(MESSAGES)
    with serving(completion("word " * 700)) as server:
        assert len(client(address(server)).complete(MESSAGES).text) == 3500


def test_texts_of_a_structured_reply_are_cut() -> None:
    found = json_object(
        Reply(json.dumps({"reasoning": "x" * 9000, "list": [{"a": "y" * 5000}], "n": 1}), "stop")
    )
    assert found["reasoning"] == "x" * 4000 + " [cut: 5,000 more characters]"
    assert found["list"][0]["a"].endswith("[cut: 1,000 more characters]") and found["n"] == 1


@pytest.mark.parametrize(
    "text",
    [
        "```json\n" + "\n " * 200_000,
        "``` " * 100_000,
        "<think>" * 60_000,
        "\n" * 400_000 + "x",
        "```\n`" * 90_000,
    ],
)
def test_parsing_is_linear(text: str) -> None:
    """200 KB of fences froze the worker for minutes, also for a stop."""
    began = time.process_time()
    read_completion(completion(text).decode())
    usable_json(Reply(text + "x", "stop"))
    assert time.process_time() - began < 1


# ---------------------------------------------------------------- proxies


@pytest.fixture
def through(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """An eavesdropping proxy, named by the environment."""
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with serving(completion("from the proxy")) as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://someone:geheim-7@127.0.0.1:{proxy.server_address[1]}")
        yield proxy


def test_what_goes_to_this_machine_goes_past_proxies(through: Any) -> None:
    notices: list[str] = []
    with misbehaving_server(lambda body: "straight", lists_models=True) as server:
        asking = client(server.url, notice=notices.append)
        assert asking.complete(MESSAGES).text == "straight"
        assert Http(server.url, "", 5).get("/models").good
        assert Http(server.url, "", 5).proxy == ""
    assert not through.heard and not any("proxy" in text for text in notices)
    local = ("localhost:1", "[::1]:1", "127.9.9.9", "LOCALHOST", "a.localhost.", "0.0.0.0", "[::]", "127.1")
    for host in (*local, "2130706433", "[::ffff:127.0.0.1]", "0x7f.1"):
        assert proxy_of(f"http://{host}/v1") == "", host
    for host in ("127.0.0.1.invalid", "localhost.invalid", "8.8.8.8", "1.invalid", "[2001:db8::1]"):
        assert proxy_of(f"http://{host}/v1"), host


def test_a_proxy_that_is_used_is_told_once_by_its_host(through: Any) -> None:
    notices: list[str] = []
    servers = KnownServers()
    client("http://models.invalid/v1", notice=notices.append, servers=servers)
    asking = client("http://models.invalid/v1", notice=notices.append, servers=servers)
    assert asking.complete(MESSAGES).text == "from the proxy"
    host = f"127.0.0.1:{through.server_address[1]}"
    assert [text for text in notices if "proxy" in text] == [
        f"here: requests to http://models.invalid/v1 go through the proxy {host} of the environment"
    ]
    assert asking.scrub("geheim-7") == "***"
    doctor = Http("http://models.invalid/v1", "", 5)
    assert doctor.proxy == host and doctor.get("/x").status == 200


def test_what_a_proxy_says_is_shown_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(b"someone:geheim-7 is not allowed to go there", status=403) as proxy:
        there = f"http://someone:geheim-7@127.0.0.1:{proxy.server_address[1]}"
        monkeypatch.setattr("engine.servers.http.proxy_of", lambda url: there)
        said = Http("http://models.invalid/v1", "", 5).get("/models").why()
    assert said == "403: *** is not allowed to go there"


def test_hosts_that_the_environment_takes_out_go_straight(
    through: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("no_proxy", "inside.invalid")
    assert proxy_of("http://inside.invalid/v1") == "" != proxy_of("http://outside.invalid/v1")
    monkeypatch.setenv("no_proxy", "10.0.0.0/8, 192.168.7.7/16, plain.invalid:80, fd00::/8")
    for host in (
        "10.1.2.3",
        "192.168.1.2",
        "plain.invalid",
        "plain.invalid:80",
        "[fd00::1]",
        "[::ffff:10.1.2.3]",
    ):
        assert proxy_of(f"http://{host}/v1") == "", host
    for host in ("11.1.2.3", "plain.invalid:81", "[fe00::1]"):
        assert proxy_of(f"http://{host}/v1"), host
    for password in ("word", "wo/rd", "wo?r#d", "w@rd", "[word"):
        assert proxy_host(f"http://user:{password}@proxy.invalid:3128/") == "proxy.invalid:3128"
    monkeypatch.setenv("http_proxy", "proxy.invalid:3128")
    assert proxy_of("http://outside.invalid/v1") == "http://proxy.invalid:3128"


@pytest.mark.parametrize(
    ("status", "body", "good"),
    [
        (200, {}, True),
        (299, [], True),
        (302, {}, False),
        (404, {}, False),
        (0, None, False),
        (200, None, False),
    ],
)
def test_an_answer_is_good_with_a_status_of_success_and_json(status: int, body: object, good: bool) -> None:
    """A page that sends on to another place may be JSON, too."""
    assert HttpAnswer(status, body=body).good is good


@pytest.mark.parametrize("packed", [False, True])
async def test_a_body_that_is_closed_closes_its_connection(packed: bool) -> None:
    closed: list[str] = []

    class Inner(httpx.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            whole = b"0123456789"
            yield gzip.compress(whole) if packed else whole

        async def aclose(self) -> None:
            closed.append("closed")

    body = _Bounded(Inner(), packed, 10)
    assert b"".join([piece async for piece in body]) == b"0123456789" and not closed
    await body.aclose()
    assert closed == ["closed"]
    with pytest.raises(BodyRefused, match=exactly("the answer is larger than 0 MiB")):
        [piece async for piece in _Bounded(Inner(), packed, 9)]


@pytest.mark.parametrize(("proxy", "given"), [("", None), ("http://proxy:1", "http://proxy:1")])
def test_a_thousand_connections_may_be_open_at_once(
    monkeypatch: pytest.MonkeyPatch, proxy: str, given: str | None
) -> None:
    made: list[dict[str, Any]] = []
    monkeypatch.setattr(httpx, "AsyncHTTPTransport", lambda **how: made.append(how))
    BoundedTransport(proxy)
    (how,) = made
    assert how["proxy"] == given and how["verify"].check_hostname
    assert (how["limits"].max_connections, how["limits"].max_keepalive_connections) == (1000, 100)
