"""Every field of an answer in OpenAI's form, whole and in pieces, from answers written by hand."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine.events import Candidate, DecisionTaken
from engine.levers.evaluated_prompt import PromptUsed
from engine.levers.lever import LeverDid
from engine.levers.levers import SteeredAnswer
from engine.levers.token_logprobs import ScoredToken
from engine.serve.pending_request import Written
from engine.serve.replies import DONE, Reply, event_bytes

DECISION = DecisionTaken(
    method="esm", example="e", m=3, gate="chosen", chosen="w1", layer=2, alpha=1.5, committed_tokens=7, probe_tokens=21,
    candidates=[
        Candidate(entry="w1", kind="wrong", similarity=0.5, quality=1.0, ahat=0.2, probed=True, logprob=-1.0)
    ],
)  # fmt: skip
SCORED = [
    ScoredToken("It", 0, None, []),
    ScoredToken(" is", 2, -0.25, [(" is", -0.25), (" était", -1.5)]),
    ScoredToken("\ufffd", 5, -0.5, [("\ufffd", -0.5), ("\ufffd", -2.0)]),
]


def answered(text: str = "It is", tokens: int = 3, **more: Any) -> SteeredAnswer:
    did = [LeverDid(lever="esm", acted=True, what="2 of 3 steered", tokens=21, calls=1, price=0.5)]
    used = PromptUsed(False, "Q: {question}", "evaluation", "a turn came before")
    return SteeredAnswer(text, [1] * tokens, 40, "stop", did, [DECISION], used, **more)


STEER = {
    "levers": ["esm"],
    "did": [{"lever": "esm", "acted": True, "what": "2 of 3 steered", "tokens": 21}],
    "decisions": [
        {
            "segment": 3, "gate": "chosen", "entry": "w1", "name": "w1", "layer": 2, "alpha": 1.5, "tokens": 7,
            "probe_tokens": 21,
        }
    ],
    "prompt": {"as_evaluated": False, "template": "Q: {question}", "system": "evaluation", "why": "a turn came before"},
}  # fmt: skip


def reply(kind: Any = "chat", **more: Any) -> Reply:
    return Reply("r1", kind, "the-model", ["esm"], **more)


def without_time(piece: dict[str, Any]) -> dict[str, Any]:
    assert isinstance(piece.pop("created"), int)
    return piece


@pytest.mark.parametrize(
    ("kind", "prefix", "name", "content"),
    [
        ("chat", "chatcmpl", "chat.completion", {"message": {"role": "assistant", "content": "It is"}}),
        ("text", "cmpl", "text_completion", {"text": "It is"}),
    ],
)
def test_a_single_answer_whole(kind: str, prefix: str, name: str, content: dict[str, Any]) -> None:
    assert without_time(reply(kind).whole([answered()])) == {
        "id": f"{prefix}-r1", "object": name, "model": "the-model",
        "choices": [{"index": 0, **content, "finish_reason": "stop", "logprobs": None}],
        "usage": {"prompt_tokens": 40, "completion_tokens": 3, "total_tokens": 43},
        "steer": STEER,
    }  # fmt: skip


def test_several_answers_each_with_what_was_decided() -> None:
    """Of two prompts with two choices each, a prompt's tokens count once."""
    whole = reply(n=2).whole([answered("a", 1), answered("b", 2), answered("c", 3), answered("d", 4)])
    assert "steer" not in whole and [one["index"] for one in whole["choices"]] == [0, 1, 2, 3]
    assert [one["message"]["content"] for one in whole["choices"]] == ["a", "b", "c", "d"]
    assert all(one["steer"] == STEER for one in whole["choices"])
    assert whole["usage"] == {"prompt_tokens": 80, "completion_tokens": 10, "total_tokens": 90}
    two = reply(n=2).whole([answered("a"), answered("b")])
    assert "steer" not in two and [one["steer"] for one in two["choices"]] == [STEER, STEER]


def test_the_pieces_of_a_chat() -> None:
    head = {"id": "chatcmpl-r1", "object": "chat.completion.chunk", "model": "the-model"}

    def piece(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        return {**head, "choices": [{"index": 1, "delta": delta, "finish_reason": finish}]}

    made = reply()
    assert without_time(made.opening(1)) == piece({"role": "assistant", "content": ""})
    assert without_time(made.text(1, Written("It", []))) == piece({"content": "It"})
    assert without_time(made.decided(1, DECISION)) == piece({}) | {
        "steer": {"decision": STEER["decisions"][0]}
    }
    assert without_time(made.end(1, answered())) == piece({}, "stop") | {"steer": STEER}
    assert without_time(made.usage_piece([answered()])) == {
        **head, "choices": [], "usage": {"prompt_tokens": 40, "completion_tokens": 3, "total_tokens": 43},
    }  # fmt: skip


def test_the_pieces_of_a_text() -> None:
    found = without_time(reply("text").text(0, Written("It", [])))
    assert found == {
        "id": "cmpl-r1", "object": "text_completion", "model": "the-model",
        "choices": [{"index": 0, "text": "It", "finish_reason": None}],
    }  # fmt: skip


def test_logprobs_of_a_chat() -> None:
    """A part of a character has no bytes that could be told."""
    found = reply(logprobs=True).text(0, Written("It is", SCORED))["choices"][0]["logprobs"]
    is_ = {"token": " is", "logprob": -0.25, "bytes": [32, 105, 115]}
    part = {"token": "\ufffd", "logprob": -0.5, "bytes": None}
    assert found == {
        "content": [
            {"token": "It", "logprob": None, "bytes": [73, 116], "top_logprobs": []},
            {
                **is_,
                "top_logprobs": [
                    is_,
                    {"token": " était", "logprob": -1.5, "bytes": [32, 195, 169, 116, 97, 105, 116]},
                ],
            },
            {**part, "top_logprobs": [part, {"token": "\ufffd", "logprob": -2.0, "bytes": None}]},
        ],
        "refusal": None,
    }
    assert reply().whole([answered(scored=SCORED)])["choices"][0]["logprobs"] is None, "not asked for"


def test_logprobs_of_a_text() -> None:
    found = reply("text", logprobs=True).whole([answered(scored=SCORED)])["choices"][0]["logprobs"]
    assert found == {
        "tokens": ["It", " is", "\ufffd"], "token_logprobs": [None, -0.25, -0.5],
        "top_logprobs": [None, {" is": -0.25, " était": -1.5}, {"\ufffd": -0.5}], "text_offset": [0, 2, 5],
    }  # fmt: skip


def test_a_piece_is_a_line_of_the_stream() -> None:
    data = event_bytes({"text": "é\n"})
    assert data == 'data: {"text": "é\\n"}\n\n'.encode() and json.loads(data[6:]) == {"text": "é\n"}
    assert DONE == b"data: [DONE]\n\n"
