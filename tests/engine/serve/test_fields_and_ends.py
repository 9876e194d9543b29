"""Every field of a request with what it may be, every refusal word for word, and what the log has of an end. No model
runs."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException

from engine.config.esm import OnlineSection
from engine.config.serve import ServeSection
from engine.errors import ConfigError, RunError
from engine.events import (
    DecisionTaken,
    Event,
    LeverActed,
    QuestionAsked,
    RequestAnswered,
    RequestTaken,
    ServeLoad,
)
from engine.levers.lever import LeverDid
from engine.serve import connections, http, listening, parsed_request, scheduler
from engine.serve.guard import Guard
from engine.serve.http import SteeredServer
from engine.serve.key import ServerKey, server_key
from engine.serve.parsed_request import parse_request, question_in
from engine.serve.pending_request import Failed, PendingRequest
from engine.serve.refused import Refused
from engine.serve.replies import decision_fields
from engine.serve.scheduler import STOPPING, Busy, RequestScheduler
from engine.serve.serve_stage import _default_levers
from tests.exactly import exactly

CHAT = {"messages": [{"role": "user", "content": "Hi"}]}
TEXT = {"prompt": "Hi"}


@pytest.fixture
def levers(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Of a model that gives logprobs, with ESM at six control points."""
    monkeypatch.setattr(parsed_request, "ScoringModel", object)
    model = SimpleNamespace(info=SimpleNamespace(backend="vllm"))
    esm = SimpleNamespace(config=SimpleNamespace(online=OnlineSection(), control_points=SimpleNamespace(M=6)))
    return SimpleNamespace(model_name="tiny", model=model, esm=esm)


def refusal(levers: Any, kind: Any, body: object, longest: int = 50) -> tuple[int, str, str | None]:
    """Status, message and field; 200 where it is answered."""
    try:
        parse_request(kind, body, levers, ["esm"], longest)
    except Refused as refused:
        error = refused.body["error"]
        assert (error["type"], error["code"]) == ("invalid_request_error", None)
        return refused.status, error["message"], error["param"]
    return 200, "", None


@pytest.mark.parametrize(
    ("name", "neutral", "other"),
    [
        ("best_of", [1], [0, 2]), ("top_k", [-1, 0], [1, -2]), ("presence_penalty", [0], [0.5, 1]),
        ("frequency_penalty", [0], [1]), ("repetition_penalty", [1], [0, 2, 1.1]), ("logit_bias", [{}], [{"1": 1}]),
        ("suffix", [""], ["x"]), ("tools", [[]], [[{}]]), ("functions", [[]], [[{}]]),
        ("tool_choice", ["none", "auto"], ["required"]), ("min_p", [0], [0.1, 1]),
        ("parallel_tool_calls", [True, False], ["x"]),
        ("response_format", [{"type": "text"}], [{"type": "json_object"}]),
        ("modalities", [["text"]], [["audio"], []]), ("user", ["x"], []), ("metadata", [{"a": 1}], []),
        ("store", [True], []), ("service_tier", ["auto"], []), ("safety_identifier", ["x"], []),
        ("prompt_cache_key", ["x"], []),
    ],
)  # fmt: skip
def test_what_asks_for_nothing_is_passed_over_and_what_cannot_be_followed_refused(
    levers: Any, name: str, neutral: list[Any], other: list[Any]
) -> None:
    for value in (*neutral, None):
        assert refusal(levers, "completion", {**TEXT, name: value})[0] == 200, value
    for value in other:
        said = (400, f"this server cannot follow `{name}`: leave it out", name)
        assert refusal(levers, "completion", {**TEXT, name: value}) == said, value


@pytest.mark.parametrize(
    ("kind", "name", "least", "most"),
    [
        ("chat", "temperature", 0, 5), ("chat", "top_p", None, 1), ("chat", "n", 1, None),
        ("chat", "seed", -(2**63), 2**63 - 1), ("completion", "logprobs", 0, 5), ("chat", "max_tokens", 1, 50),
        ("chat", "max_completion_tokens", 1, 50), ("completion", "max_tokens", 1, 50),
        ("chat", "steer.k_scale", -1000, 1000), ("chat", "steer.beta", -1000, 1000), ("chat", "steer.rho", -1000, 1000),
        ("chat", "steer.tau_null", -1000, 1000), ("chat", "steer.min_sim", -1, 1), ("chat", "steer.L", 1, 16),
        ("chat", "steer.probe_tokens", 0, 64), ("chat", "steer.k_retrieve", 1, 1024),
        ("chat", "steer.min_tool_m", 2, 6), ("chat", "steer.max_tool_m", 2, 1000),
    ],
)  # fmt: skip
def test_the_bounds_of_numbers(
    levers: Any, kind: str, name: str, least: int | None, most: int | None
) -> None:
    outer, _, inner = name.partition(".")

    def status(value: float) -> tuple[int, str | None]:
        fields: dict[str, Any] = {outer: {inner: value} if inner else value}
        code, _, field = refusal(levers, kind, {**(CHAT if kind == "chat" else TEXT), **fields})
        return code, field

    for bound, beyond in ((least, -1), (most, 1)):
        if bound is not None:
            assert status(bound) == (200, None) and status(bound + beyond) == (400, name)
    if name == "top_p":
        assert status(0) == (400, "top_p") and status(0.01) == (200, None)


@pytest.mark.parametrize(
    ("kind", "fields", "status", "message", "field"),
    [
        ("chat", {"model": "big"}, 404, "there is no model 'big': this server has tiny", "model"),
        ("chat", {"messages": [{"role": "assistant", "content": "x"}]}, 400,
         "messages: the last message has to be the user's", "messages"),
        ("chat", {"max_tokens": 51}, 400, "max_tokens: from 1 to 50 tokens can be asked for", "max_tokens"),
        ("completion", {"max_tokens": 51, "echo": True}, 400, "max_tokens: from 0 to 50 tokens can be asked for",
         "max_tokens"),
        ("chat", {"max_tokens": 5, "max_completion_tokens": 0}, 400,
         "max_completion_tokens: from 1 to 50 tokens can be asked for", "max_completion_tokens"),
        ("chat", {"top_logprobs": 1}, 400, "top_logprobs: only with `logprobs: true`", "top_logprobs"),
        ("chat", {"logprobs": True, "top_logprobs": 21}, 400,
         "top_logprobs: Input should be less than or equal to 20", "top_logprobs"),
        ("chat", {"stream_options": {}}, 400, "stream_options: only with `stream: true`", "stream_options"),
        ("chat", {"steer": {"esm": False, "rho": 1.0}}, 400,
         "steer.rho: it changes ESM's decisions, and ESM is off for this request", "steer.rho"),
        ("chat", {"steer": {"min_tool_m": 7}}, 400,
         "steer.min_tool_m: no segment from 7 to 6 is left to steer; the run has 6", "steer.min_tool_m"),
        ("chat", {"steer": {"min_tool_m": 5, "max_tool_m": 4}}, 400,
         "steer.min_tool_m: no segment from 5 to 4 is left to steer; the run has 6", "steer.min_tool_m"),
        ("chat", {"steer": {"x": 1}}, 400,
         "steer.x: there is no such field; allowed: esm, deltas, notes, evidence, prompt, k_scale, beta, rho, "
         "tau_null, min_sim, L, probe_tokens, k_retrieve, min_tool_m, max_tool_m", "steer.x"),
        ("completion", {"x" * 200: 1}, 400,
         "x" * 100 + ": there is no such field; allowed: model, max_tokens, max_completion_tokens, n, temperature, "
         "top_p, seed, stop, stream, stream_options, steer, prompt, echo, logprobs", "x" * 100),
        ("completion", {"prompt": [[1], []]}, 400,
         "prompt: a text, a list of texts, a list of token ids, or a list of such lists; none of them empty", "prompt"),
        ("completion", {"prompt": [-1]}, 400,
         "prompt: a text, a list of texts, a list of token ids, or a list of such lists; none of them empty", "prompt"),
        ("chat", {"stop": ["x"] * 17}, 400, "stop: a text or a list of at most 16 texts", "stop"),
        ("chat", {"messages": []}, 400,
         "messages: List should have at least 1 item after validation, not 0", "messages"),
    ],
)  # fmt: skip
def test_refusals_word_for_word(
    levers: Any, kind: str, fields: dict[str, Any], status: int, message: str, field: str
) -> None:
    body = {**(CHAT if kind == "chat" else TEXT), **fields}
    assert refusal(levers, kind, body) == (status, message, field)


def test_what_a_request_is_read_as(levers: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert refusal(levers, "chat", ["x"]) == (400, "the request has to be a JSON object", None)
    read = parse_request("chat", CHAT, levers, ["esm", "notes"], 50)
    assert (read.n, read.stream, read.report_usage, read.prompts) == (1, False, False, [CHAT["messages"]])
    assert (read.chosen.levers, dict(read.chosen.online), read.chosen.notes) == (["esm", "notes"], {}, None)
    limits = read.limits
    assert (limits.max_tokens, limits.temperature, limits.seed, limits.stops, limits.top_p) == (
        None,
        None,
        None,
        (),
        1.0,
    )
    assert (limits.logprobs, limits.echo, read.chosen.prompt) == (None, False, True)
    body = {
        "prompt": ["a", [1, 2]], "max_tokens": 3, "max_completion_tokens": 4, "seed": 5, "stop": ["x", ""], "n": 2,
        "echo": True, "logprobs": 2, "stream": True, "stream_options": {"include_usage": True, "more": 1}, "top_p": 0.5,
        "temperature": 1, "model": "tiny",
        "steer": {"esm": True, "deltas": False, "notes": "always", "evidence": True, "prompt": False, "beta": 2.0},
    }  # fmt: skip
    read = parse_request("completion", body, levers, ["deltas", "notes"], 50)
    assert (read.n, read.stream, read.report_usage, read.prompts) == (2, True, True, ["a", [1, 2]])
    chosen = read.chosen
    assert (chosen.levers, dict(chosen.online), chosen.notes) == (
        ["esm", "notes", "evidence"],
        {"beta": 2.0},
        "always",
    )
    limits = read.limits
    assert (limits.max_tokens, limits.temperature, limits.seed, limits.stops, limits.top_p) == (
        4,
        1.0,
        5,
        ("x",),
        0.5,
    )
    assert (limits.logprobs, limits.echo, chosen.prompt) == (2, True, False)
    assert parse_request("chat", {**CHAT, "logprobs": True}, levers, [], 50).limits.logprobs == 0
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    told = [{"role": "developer", "content": parts}, {"role": "user", "content": "q", "name": "n"}]
    read = parse_request("chat", {"messages": told}, levers, [], 50)
    assert read.prompts == [[{"role": "system", "content": "ab"}, {"role": "user", "content": "q"}]]
    assert [question_in(one) for one in (read.prompts[0], "text", [1, 2, 3])] == ["q", "text", "3 tokens"]
    monkeypatch.setattr(parsed_request, "ScoringModel", str)
    said = (400, "logprobs: the backend vllm does not give them", "logprobs")
    assert refusal(levers, "completion", {**TEXT, "logprobs": 0}) == said
    levers.esm = None
    assert refusal(levers, "chat", {**CHAT, "steer": {"L": 2}})[2] == "steer.L"


# ------------------------------------------------------------ the scheduler


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    moment = [100.0]
    monkeypatch.setattr(scheduler, "time", SimpleNamespace(monotonic=lambda: moment[0]))
    return moment


def scheduled(events: list[Event], section: ServeSection, progress: list[Any]) -> RequestScheduler:
    levers: Any = SimpleNamespace(model=SimpleNamespace(open=lambda prompts: None))
    return RequestScheduler(levers, section, events.append, lambda *done: progress.append(done))


def request(sent: list[Any], name: str = "r", **more: Any) -> PendingRequest:
    decisions = [
        DecisionTaken(
            method="esm", example="", m=m, gate="chosen", phase=phase, prefix="p", segment="s", null_probe="n"
        )
        for m, phase in ((1, "segment"), (2, "segment"), (3, "tail"))
    ]  # fmt: skip
    answer = SimpleNamespace(decisions=decisions, tokens=[1, 2], probe_tokens=5, steered=1)
    text = SimpleNamespace(
        answer=answer, tokens=4, finish="stop", text="the answer", prompt=[1, 2, 3], echo="", prompt_scored=[],
    )  # fmt: skip
    parsed: Any = SimpleNamespace(chosen=SimpleNamespace(levers=["esm"]), kind="chat", stream=False)
    prepared: Any = SimpleNamespace(text=text, again=None)
    made = PendingRequest(name, parsed, "why?", sent.append, prepared, 90.0)
    for field, value in more.items():
        setattr(made, field, value)
    return made


@pytest.mark.parametrize("log_texts", [True, False])
def test_what_the_log_has_of_a_request(now: list[float], log_texts: bool) -> None:
    events: list[Event] = []
    progress: list[Any] = []
    busy, sent = scheduled(events, ServeSection(log_texts=log_texts), progress), list[Any]()
    one = request(sent, spent=2, first=0.123456)
    busy.reserve()
    busy.submit(one)
    busy._announce(one)
    asked = "why?" if log_texts else ""
    assert events == [
        QuestionAsked(example="r", question=asked),
        RequestTaken(
            request="r",
            kind="chat",
            levers=["esm"],
            question=asked,
            prompt_tokens=3,
            stream=False,
            waited=10.0,
        ),
    ]
    busy._log(one, one.new_decisions()[:1])
    kept: dict[str, Any] = {"prefix": "p", "segment": "s", "null_probe": "n"} if log_texts else {}
    assert events[2] == DecisionTaken(method="esm", example="r", m=1, gate="chosen", phase="segment", **kept)
    now[0] = 103.00004
    answer: Any = SimpleNamespace(
        decisions=one.text.answer.decisions, did=[LeverDid(lever="esm", acted=True, what="1 of 2", tokens=9)],
        text="the answer", scored=None,
    )  # fmt: skip
    busy._answered(one, answer)
    assert events[3] == RequestAnswered(
        request="r", outcome="answered", why="", finish="stop", tokens=4, probe_tokens=7, first=0.1235, seconds=3.0,
        segments=2, steered=1, did=[LeverActed(lever="esm", acted=True, what="1 of 2", tokens=9)],
        text="the answer" if log_texts else "",
    )  # fmt: skip
    assert (progress, busy.reserved, busy._submitted, sent) == ([(1, 11)], 0, {}, [answer])
    assert busy._mean_seconds == pytest.approx(0.5 + 0.1 * (3.00004 - 0.5))
    now[0] = 110.0
    busy._report()
    assert events[4:] == [ServeLoad(in_flight=0, waiting=0, tokens=11, tokens_per_second=1.1, answered=1)]


def test_who_leaves_who_waits_and_who_comes_too_late(now: list[float]) -> None:
    events: list[Event] = []
    progress: list[Any] = []
    busy, sent = scheduled(events, ServeSection(max_in_flight=2), progress), list[Any]()
    first, second = request(sent, "a"), request(sent, "b")
    for one in (first, second):
        busy.reserve()
        busy.submit(one)
    busy.cancel(first)
    busy._drop_cancelled()
    assert [(e.request, e.outcome, e.seconds, e.did) for e in events if isinstance(e, RequestAnswered)] == [
        ("a", "vanished", 10.0, [])
    ]
    assert (busy.reserved, progress) == (1, [(1, 9)])
    busy.reserve(3)
    busy._mean_seconds = 2.0
    assert busy._patience() == 6, "5 of two at once are 3 rounds of 2 s"
    busy._mean_seconds = 0.01
    assert busy._patience() == 1
    busy._mean_seconds = 1000.0
    assert busy._patience() == 60
    busy.close()
    assert sent == [Failed("the server is stopping", stopping=True)] == [STOPPING]
    late = request(sent, "c")
    busy.submit(late)
    assert sent == [STOPPING] * 2 and busy.reserved == 3
    busy.release(3)
    assert busy.reserved == 0
    assert str(Busy(7)) == "come again in 7 seconds" and Busy(7).seconds == 7


def test_an_answer_that_cannot_be_checked_stands(now: list[float]) -> None:
    busy = scheduled([], ServeSection(), [])
    one = request([])

    def fails(text: str) -> None:
        raise RunError(what=f"no judge of {text}", where="slsm", hint="start it")

    one.prepared.again = fails  # type: ignore[misc,assignment]
    busy._check(one)
    what = "the answer could not be checked: no judge of the answer (slsm): start it"
    assert list(busy._checked) == [(one, LeverDid(lever="notes", acted=False, what=what))]


# ------------------------------------------------------------ the server


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
        assert error["message"] == f"the prompt has {says}, more than the model's context of 10 tokens"
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


# ------------------------------------------------------------ address, key, levers


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


def test_who_leaves_is_taken_out_of_the_batch(now: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    busy = scheduled([], ServeSection(max_in_flight=2), [])
    dropped: list[Any] = []
    waited: list[float] = []
    monkeypatch.setattr(busy._batch, "drop", dropped.extend)
    monkeypatch.setattr(busy._lock, "wait", waited.append)
    gone, stays = request([], "a", cancelled=True), request([], "b")
    for one in (gone, stays):
        busy.reserve()
        busy._submitted[id(one)] = busy._in_flight[id(one.text)] = one
    busy._drop_cancelled()
    assert dropped == [gone.text] and list(busy._in_flight.values()) == [stays]
    busy._wait()
    busy._waiting.append(stays)
    busy._wait()
    busy._waiting.clear()
    busy._checked.append((stays, LeverDid(lever="notes", acted=False, what="x")))
    busy._wait()
    assert waited == [0.1], "only where nothing waits and nothing was checked"


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


def test_what_was_checked_goes_on_or_ends(now: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[Event] = []
    sent: list[Any] = []
    busy = scheduled(events, ServeSection(), [])
    gone, stands = request([], "a", cancelled=True), request(sent, "b")
    for one in (gone, stands):
        busy.reserve()
        busy._submitted[id(one)] = one
    found = LeverDid(lever="notes", acted=False, what="keeps")
    answer: Any = SimpleNamespace(text="the answer", scored=None, decisions=[], did=[])
    monkeypatch.setattr(
        busy.levers, "answered", lambda prepared, seen: (answer, seen)[seen is None], raising=False
    )
    busy._checked.extend([(gone, found), (stands, found)])
    busy._take_checked()
    assert [(e.request, e.outcome) for e in events if isinstance(e, RequestAnswered)] == [
        ("a", "vanished"),
        ("b", "answered"),
    ]
    assert sent == [answer] and busy.reserved == 0
    ended: list[dict[str, bool]] = []
    monkeypatch.setattr(busy, "_checking", SimpleNamespace(shutdown=lambda **how: ended.append(how)))
    busy.close()
    assert ended == [{"wait": False, "cancel_futures": True}]


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
