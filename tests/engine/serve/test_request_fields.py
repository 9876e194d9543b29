"""Every field of a request with what it may be, and every refusal word for word. No model runs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from engine.config.esm import OnlineSection
from engine.serve import parsed_request
from engine.serve.parsed_request import parse_request, question_in
from engine.serve.refused import Refused

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
        code = "model_not_found" if refused.status == 404 else None
        assert (error["type"], error["code"]) == ("invalid_request_error", code)
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
        ("chat", {"model": "b" * 201}, 404, f"there is no model '{'b' * 200}': this server has tiny", "model"),
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
        ("chat", {"steer": {"min_tool_m": 7, "max_tool_m": 9}}, 400,
         "steer.min_tool_m: no segment from 7 to 6 is left to steer; the run has 6", "steer.min_tool_m"),
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
        ("chat", {"steer": {"notes": "never"}}, 400,
         "steer.notes: true, false, on_risk, always, or on_detection", "steer.notes"),
        ("chat", {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, 400,
         'messages.0.content: a text, or a list of parts of the form {"type": "text", "text": "..."}',
         "messages.0.content"),
        ("chat", {"messages": []}, 400,
         "messages: List should have at least 1 item after validation, not 0", "messages"),
    ],
)  # fmt: skip
def test_refusals_word_for_word(
    levers: Any, kind: str, fields: dict[str, Any], status: int, message: str, field: str
) -> None:
    body = {**(CHAT if kind == "chat" else TEXT), **fields}
    assert refusal(levers, kind, body) == (status, message, field)


def test_the_run_s_own_segments_are_no_fault_of_a_request(levers: Any) -> None:
    """It is told of the field that it names itself, where none is left with that."""
    levers.esm.config.online = OnlineSection(min_tool_m=5)
    last = (
        400,
        "steer.max_tool_m: no segment from 5 to 4 is left to steer; the run has 6",
        "steer.max_tool_m",
    )
    assert refusal(levers, "chat", {**CHAT, "steer": {"max_tool_m": 4}}) == last
    assert refusal(levers, "chat", {**CHAT, "steer": {"max_tool_m": 5}})[0] == 200
    levers.esm.config.online = OnlineSection(min_tool_m=7)
    assert refusal(levers, "chat", {**CHAT, "steer": {"rho": 1.0}})[0] == 200


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
