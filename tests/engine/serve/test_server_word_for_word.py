"""What the server says and refuses by itself, its address and its key. No model runs."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request

from engine.config.config import Config
from engine.config.serve import ServeSection
from engine.errors import ConfigError, DataError, RunError
from engine.events import DecisionTaken, Notice, StageStarted
from engine.levers.evaluated_prompt import PromptUsed
from engine.levers.levers import Limits, PromptTooLong, SteeredAnswer
from engine.run.gate import StopRequested
from engine.run.stage import StageContext
from engine.seeds import derive_seed
from engine.serve import connections, http, listening, serve_stage
from engine.serve.guard import Guard
from engine.serve.http import SteeredServer, _pieces, _whole
from engine.serve.key import ServerKey, server_key
from engine.serve.pending_request import Failed, Written
from engine.serve.refused import Refused
from engine.serve.replies import DONE, Reply, decision_fields
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


def test_what_the_server_refuses_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    one = server(max_in_flight=4)
    many: Any = SimpleNamespace(prompts=["x"] * 5, n=1)
    for asked, field in ((many, "prompt"), (SimpleNamespace(prompts=["x"], n=5), "n")):
        with pytest.raises(Refused) as refused:
            one._count(asked)
        assert refused.value.body["error"]["message"] == f"{field}: a request has at most 4 answers"
        assert (refused.value.status, refused.value.body["error"]["param"]) == (400, field)
    assert one._count(SimpleNamespace(prompts=["x"] * 2, n=2)) == 4  # type: ignore[arg-type]
    for kind, prompt, says in (
        ("chat", [{"role": "user", "content": "x" * 20}, {"role": "user", "content": "y" * 11}], "31 characters"),
        ("completion", "x" * 31, "31 characters"), ("completion", [1] * 11, "11 tokens"),
    ):  # fmt: skip
        asked: Any = SimpleNamespace(kind=kind, prompts=[prompt])
        with pytest.raises(Refused) as refused:
            one._refuse_hopeless(asked)
        error = refused.value.body["error"]
        assert refused.value.status == 400
        assert error["message"] == f"the prompt has {says}, this model's maximum context length is 10 tokens"
        assert error["code"] == "context_length_exceeded" and is_about_content(error["message"])
        assert error["param"] == ("messages" if kind == "chat" else "prompt")
    for context, prompts in ((10, ("x" * 30, [1] * 10)), (0, ("x" * 99, [1] * 99))):
        monkeypatch.setattr(one._levers.model.info, "context", context)
        one._refuse_hopeless(SimpleNamespace(kind="completion", prompts=prompts))  # type: ignore[arg-type]
    assert one._new_name() == f"{one._began:x}-1" and one._new_name().endswith("-2")
    one._scheduler.reserve = lambda places: (_ for _ in ()).throw(Busy(9))  # type: ignore[method-assign]
    with pytest.raises(Refused) as refused:
        one._reserve(1)
    assert refused.value.body["error"] == {
        "message": "all places are taken", "type": "rate_limit_error", "param": None, "code": "server_busy",
    }  # fmt: skip
    assert (refused.value.status, refused.value.headers) == (429, {"Retry-After": "9"})


async def asked(
    app: Any, method: str, path: str, headers: Mapping[str, str] = MappingProxyType({}), body: bytes = b""
) -> tuple[int, Any]:
    """Status and JSON of the application's answer."""
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": body}

    async def send(message: Any) -> None:
        sent.append(message)

    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": method, "path": path, "headers": raw, "query_string": b""}
    await app(scope, receive, send)
    return sent[0]["status"], json.loads(b"".join(message.get("body", b"") for message in sent[1:]))


async def test_where_the_server_answers() -> None:
    """Every error has the same form; whether it lives is told without the key."""
    app, key = server().app, {"authorization": "Bearer sk"}
    assert await asked(app, "GET", "/health") == (200, {"status": "ok"})
    status, models = await asked(app, "GET", "/v1/models", key)
    assert status == 200 and models["object"] == "list" and [one["id"] for one in models["data"]] == ["tiny"]
    assert await asked(app, "GET", "/v1/models/tiny", key) == (200, models["data"][0])
    for method, path, given, expected in (
        ("GET", "/v1/models/o/ther", key, 404), ("GET", "/nowhere", {}, 404), ("GET", "/v1/models", {}, 401),
        ("GET", "/v1/models/tiny", {}, 401), ("POST", "/v1/chat/completions", {}, 401),
        ("POST", "/v1/completions", {}, 401), ("GET", "/v1/chat/completions", key, 405),
        ("GET", "/v1/completions", key, 405), ("POST", "/v1/models", key, 405),
    ):  # fmt: skip
        status, told = await asked(app, method, path, given)
        assert status == expected and list(told["error"]) == ["message", "type", "param", "code"], path


@pytest.mark.parametrize(
    ("prompts", "n", "reserved", "message"),
    [
        (["x"], 3, [1, 2], "the client has gone"),
        (["x", "y"], 2, [1, 3], "the client has gone"),
        (["x"], 5, [1], "n: a request has at most 4 answers"),
        (
            ["x" * 31],
            1,
            [1],
            "the prompt has 31 characters, this model's maximum context length is 10 tokens",
        ),
    ],
)
@pytest.mark.parametrize(("path", "kind"), [("completions", "completion"), ("chat/completions", "chat")])
async def test_a_request_has_a_place_while_it_is_read_and_one_for_each_answer(
    monkeypatch: pytest.MonkeyPatch,
    prompts: list[str],
    n: int,
    reserved: list[int],
    message: str,
    path: str,
    kind: str,
) -> None:
    """All are given back where it is refused."""
    one, places, released = server(max_in_flight=4), list[int](), list[int]()
    one._scheduler.reserve = lambda count: places.append(count) or count  # type: ignore[method-assign,func-returns-value]
    one._scheduler.release = released.append  # type: ignore[method-assign,assignment]
    parsed = SimpleNamespace(kind=kind, prompts=prompts, n=n)
    given: list[Any] = []
    monkeypatch.setattr(http, "parse_request", lambda *of: given.append((of[0], of[1], *of[3:])) or parsed)

    async def gone(request: Request) -> bool:
        return True

    monkeypatch.setattr(Request, "is_disconnected", gone)
    key = {"authorization": "Bearer sk", "content-type": "Application/JSON ; charset=utf-8"}
    status, told = await asked(one.app, "POST", f"/v1/{path}", key, b'{"a": 1}')
    assert (status, told["error"]["message"]) == (400, message)
    assert given == [(kind, {"a": 1}, ["esm"], ServeSection().max_tokens)]
    assert (places, released) == (reserved, [sum(reserved)])


@pytest.mark.parametrize(
    ("limits", "choice", "path"),
    [
        (Limits(temperature=0.0), 0, None),
        (Limits(seed=5, temperature=1.0), 0, None),
        (Limits(seed=5, temperature=1.0), 2, (5, "serve", "choice", 2)),
        (Limits(temperature=0.0), 2, (7, "serve", "choice", 2)),
        (Limits(temperature=1.0), 0, (7, "serve", "{began}-1")),
        (Limits(temperature=1.0), 2, (7, "serve", "{began}-1")),
    ],
)
async def test_each_choice_is_drawn_for_itself(
    limits: Limits, choice: int, path: tuple[Any, ...] | None
) -> None:
    """From the request's seed, or the run's; where neither is named, from the number of the request."""
    one, given = server(), list[Any]()
    one._levers.prepare = lambda *of: given.append(of)  # type: ignore[method-assign]
    one._levers.prepare_text = lambda *of: given.append(("text", *of))  # type: ignore[method-assign]
    for kind in ("chat", "completion"):
        one._numbers = itertools.count(1)
        parsed: Any = SimpleNamespace(kind=kind, limits=limits, chosen="chosen")
        await one._prepared(parsed, "prompt", choice)
    if path is not None:
        named: list[Any] = [
            name.format(began=f"{one._began:x}") if isinstance(name, str) else name for name in path
        ]
        limits = replace(limits, seed=derive_seed(*named))
    expected = ("serve", "prompt", "chosen", limits)
    assert given == [expected, ("text", *expected)]


@pytest.mark.parametrize(
    ("error", "field", "code"),
    [
        (PromptTooLong(what="it is long", where="", hint="cut it"), "messages", "context_length_exceeded"),
        (DataError(what="it is long", where="steer.notes", hint="cut it"), "steer.notes", None),
    ],
)
async def test_what_cannot_be_prepared_is_refused_with_its_field(
    error: DataError, field: str, code: str | None
) -> None:
    def fails(*of: Any) -> Any:
        raise error

    one = server()
    one._levers.prepare = fails  # type: ignore[method-assign]
    parsed: Any = SimpleNamespace(kind="chat", limits=Limits(), chosen=None)
    with pytest.raises(Refused) as refused:
        await one._prepared(parsed, "prompt", 0)
    assert refused.value.status == 400
    assert refused.value.body["error"] == {
        "message": "it is long: cut it", "type": "invalid_request_error", "param": field, "code": code,
    }  # fmt: skip


@pytest.mark.parametrize("key_env", [None, "none"])
def test_the_stage_tells_where_it_serves_and_at_its_end_all_that_are_left(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, key_env: str | None
) -> None:
    """Also where it ends with an error."""
    events: list[Any] = []
    levers: Any = SimpleNamespace(model_name="tiny", names=["esm"], fits=[])
    section = ServeSection(host="127.0.0.1", port=0, levers=[], key_env=key_env)
    config = Config(serve=section)

    class Scheduler:
        def __init__(self, *given: Any) -> None:
            assert given[:2] == (levers, config.serve)

        def work(self, checkpoint: Any) -> None:
            events.append("work")
            checkpoint()

        def close(self) -> None:
            events.append("close")

    @contextmanager
    def serving(app: Any, opened: Any, patience: float) -> Iterator[None]:
        assert (
            isinstance(app, Guard) and app._open is (key_env == "none") and patience == section.client_timeout
        )
        yield
        events.append("the last connection is closed")

    def stopped() -> None:
        raise StopRequested

    monkeypatch.setattr(serve_stage, "_levers", lambda context, section: levers)
    monkeypatch.setattr(serve_stage, "RequestScheduler", Scheduler)
    monkeypatch.setattr(serve_stage, "SteeredServer", lambda *given: SimpleNamespace(app=None))
    monkeypatch.setattr(serve_stage, "serving", serving)
    nobody: Any = None
    with pytest.raises(StopRequested):
        serve_stage.Serve().run(StageContext("serve", config, tmp_path, events.append, stopped, nobody))
    started, opened, *rest = events
    assert started == StageStarted(total=0, done=0, unit="requests") and rest == ["work", "close"]
    place = "no key is asked for" if key_env else str(tmp_path / "serve" / "key")
    assert (opened.model, opened.key, opened.levers, opened.usual) == ("tiny", place, [], [])
    assert opened.url.startswith("http://127.0.0.1:") and opened.url.endswith("/v1")


@pytest.mark.parametrize(
    ("address", "warned"), [("127.0.0.2", 0), ("::1", 0), ("192.168.1.5", 1), ("0.0.0.0", 1), ("::", 1)]
)
def test_a_server_without_a_key_warns_where_others_reach_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, address: str, warned: int
) -> None:
    events: list[Any] = []

    class Bound:
        def getsockname(self) -> tuple[str, int]:
            return address, 80

        def __enter__(self) -> None: ...

        def __exit__(self, *_: object) -> None: ...

    monkeypatch.setattr(serve_stage, "bound", lambda *_: Bound())
    monkeypatch.setattr(serve_stage, "_levers", lambda *_: SimpleNamespace(fits=[], names=[]))
    for part in ("RequestScheduler", "SteeredServer"):
        monkeypatch.setattr(serve_stage, part, lambda *_: SimpleNamespace(app=None))
    config = Config(serve=ServeSection(host="a.host", port=0, levers=[], key_env="none"))
    monkeypatch.setattr(serve_stage, "Guard", lambda *_: (_ for _ in ()).throw(StopRequested))
    nobody: Any = None
    with pytest.raises(StopRequested):
        serve_stage.Serve().run(StageContext("serve", config, tmp_path, events.append, lambda: None, nobody))
    texts = [event.text for event in events if isinstance(event, Notice)]
    assert texts == ["anybody who reaches a.host can use this server: it asks for no key"] * warned


def test_the_runs_to_serve_are_those_named_or_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []
    monkeypatch.setattr(serve_stage, "load_levers", lambda runs, *of: given.append(runs))
    monkeypatch.setenv("HOME", "/home/me")
    context: Any = SimpleNamespace(run_dir=Path("own"), config=Config(), servers=None)
    for runs in ([], ["~/a", "b"]):
        serve_stage._levers(context, ServeSection(runs=runs))
    assert given == [[Path("own")], [Path("/home/me/a"), Path("b")]]


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


@pytest.mark.parametrize("pieces", [[b'"1234', b'56789"'], [b'"', b"1" * 99], [b"x" * 11]])
async def test_a_body_that_is_too_large_is_read_no_further(
    monkeypatch: pytest.MonkeyPatch, pieces: list[bytes]
) -> None:
    monkeypatch.setattr(ServeSection, "max_body", 10)
    left = [*pieces, b"never read"]

    async def receive() -> Any:
        return {"type": "http.request", "body": left.pop(0), "more_body": True}

    request = Request(
        {
            "type": "http",
            "method": "POST",
            "headers": [(b"content-type", b"application/json; charset=utf-8")],
        },
        receive,
    )
    with pytest.raises(Refused) as refused:
        await server()._body(request)
    assert refused.value.status == 413 and refused.value.headers == {"Connection": "close"}
    assert refused.value.body["error"]["message"] == "a request has at most 10 bytes"
    assert left == [b"never read"]


@pytest.mark.parametrize(
    ("body", "read"),
    [(b'"12345678"', "12345678"), (b" [1,  2] ", [1, 2]), (b"NaN", None), (b'"\\ud800"', None)],
)
async def test_a_body_is_json(monkeypatch: pytest.MonkeyPatch, body: bytes, read: object) -> None:
    monkeypatch.setattr(ServeSection, "max_body", 10)

    async def receive() -> Any:
        return {"type": "http.request", "body": body}

    for kind, status in ((b"Application/JSON", 400), (b"text/plain", 415), (b"", 415)):
        request = Request({"type": "http", "method": "POST", "headers": [(b"content-type", kind)]}, receive)
        if status == 400 and read is not None:
            assert await server()._body(request) == read
            continue
        with pytest.raises(Refused) as refused:
            await server()._body(request)
        assert (refused.value.status, refused.value.headers) == (status, None)


@pytest.mark.parametrize(("kind", "openings"), [("chat", 2), ("completion", 0)])
@pytest.mark.parametrize("usage", [True, False])
async def test_the_pieces_of_a_stream(kind: Any, openings: int, usage: bool) -> None:
    """Each answer of a chat is opened; at the end of all the tokens are told to who asked for them."""
    did: Any = []
    used = PromptUsed(True, "", None, "")
    answer = SteeredAnswer("It is", [1, 2, 3], 40, "stop", did, [], used)
    updates: asyncio.Queue[Any] = asyncio.Queue()
    for one in ((0, Written("It is", [])), (1, answer), (0, answer)):
        updates.put_nowait(one)
    parsed: Any = SimpleNamespace(kind=kind, report_usage=usage)
    reply = Reply("r1", kind, "tiny", [], n=2)
    *pieces, last = [piece async for piece in _pieces(reply, parsed, 2, updates)]
    assert last == DONE and len(pieces) == openings + 3 + usage
    read = [json.loads(piece.removeprefix(b"data: ")) for piece in pieces]
    assert [one["choices"][0]["index"] for one in read[: openings + 3]] == [*range(openings), 0, 1, 0]
    assert [one.get("usage", "none") for one in read[: openings + 3]] == [None if usage else "none"] * (
        openings + 3
    )
    if usage:
        assert read[-1]["choices"] == [] and read[-1]["usage"]["completion_tokens"] == 6


@pytest.mark.parametrize("leaves", [True, False])
async def test_an_answer_comes_whole_unless_the_client_has_gone(leaves: bool) -> None:
    updates: asyncio.Queue[Any] = asyncio.Queue()

    async def receive() -> Any:
        if not leaves:
            await asyncio.Event().wait()
        return {"type": "http.disconnect"}

    if not leaves:
        updates.put_nowait(
            (0, SteeredAnswer("It is", [1, 2, 3], 40, "stop", [], [], PromptUsed(True, "", None, "")))
        )
    request = Request({"type": "http", "method": "POST", "headers": []}, receive)
    found = await _whole(request, Reply("r1", "completion", "tiny", []), 1, updates)
    assert found.status_code == (499 if leaves else 200)
    text = None if leaves else json.loads(found.body)["choices"][0]["text"]  # type: ignore[arg-type]
    assert text == (None if leaves else "It is")


async def test_answers_that_come_in_any_order_are_told_in_their_own() -> None:
    updates: asyncio.Queue[Any] = asyncio.Queue()
    used = PromptUsed(True, "", None, "")
    answers = [SteeredAnswer(text, [1], 40, "stop", [], [], used) for text in "abc"]
    for number in (2, 0, 1):
        updates.put_nowait((number, Written("x", [])))
        updates.put_nowait((number, answers[number]))
    assert await http._answers(3, updates) == answers


async def test_a_stream_ends_with_a_failure() -> None:
    updates: asyncio.Queue[Any] = asyncio.Queue()
    updates.put_nowait((0, Failed("out of memory")))
    parsed: Any = SimpleNamespace(kind="completion", report_usage=True)
    reply = Reply("r1", "completion", "tiny", [], n=1)
    failed, last = [piece async for piece in _pieces(reply, parsed, 1, updates)]
    assert last == DONE and b"out of memory" in failed


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
        ({"host": "mymachine:80"}, None), ({"host": "MyMachine"}, None), ({"origin": "http://MYMACHINE"}, None),
    ],
)  # fmt: skip
def test_what_is_refused_unread(
    monkeypatch: pytest.MonkeyPatch, headers: dict[str, str], refused: tuple[int, str] | None
) -> None:
    """Its own names are those that it was given and the machine's, in any case."""
    monkeypatch.setattr("socket.gethostname", lambda: "MyMachine")
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
    for value in ("", " \n", "a b", "a\x00", "ä\n"):
        file.write_text(value)
        wrong = "…/serve/key: expected a file with the key alone (configuration): correct this value"
        with pytest.raises(ConfigError, match=exactly(wrong)):
            server_key(ServeSection(), tmp_path)
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
    assert list(kind.waiting) == [third, second] and timers[-1] == [2.5, "runs"]
    second.on_response_complete()
    assert list(kind.waiting) == [third, second], "once, from now on"
    assert timers[-2:] == [[2.5, "runs", "cancelled"], [2.5, "runs"]]
    third.transport.is_closing = lambda: True
    third._end_waiting()
    third.cycle = second.cycle
    third.on_response_complete()
    assert list(kind.waiting) == [second]
