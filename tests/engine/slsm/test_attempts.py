"""Several attempts at a conversation: each has its own answer, its own conflicts, and its own draw."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from engine.lm.protocol import ignore
from engine.servers.spent import Spent
from engine.slsm import layout, slsm_stage
from engine.slsm.chat_model import ChatAnswer, ChatAsk, Given
from engine.slsm.what_if import WhatIf, WhatIfRequest
from tests.engine.slsm.small_run import answers_of, small_context
from tests.engine.slsm.stage_run import run_slsm

CHAT = [
    {"role": "user", "content": "Never use the word sorry."},
    {"role": "assistant", "content": "Okay."},
    {"role": "user", "content": "Hi!"},
]


class Saying:
    """Answers what a function says to each ask."""

    name = "saying"

    def __init__(self, said: Callable[[ChatAsk], str]) -> None:
        self._said = said

    def answer(self, asks: Sequence[ChatAsk], checkpoint: Any, keep: Given, early: Given = ignore) -> None:
        for number, ask in enumerate(asks):
            keep(number, ChatAnswer(self._said(ask), Spent(1, 10)))

    def count_tokens(self, text: str) -> int:
        return len(text)


def settings(folder: Path, **slsm: Any) -> dict[str, Any]:
    path = folder / "chats.jsonl"
    path.write_text(json.dumps({"id": "c", "messages": CHAT}))
    return {"data": {"path": str(path)}, "attempts": 2, "temperature": 1.0, "judge": {"kind": "none"}} | slsm


def test_each_attempt_has_its_own_conflicts_and_second_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def said(ask: ChatAsk) -> str:
        if "[SLSM MEMORY NOTE]" in ask.messages[-1]["content"]:
            return "Hello again."
        return "Sorry, hello." if ask.attempt else "Hello."

    monkeypatch.setattr(slsm_stage, "make_chat_model", lambda *_: Saying(said))
    answers = answers_of(run_slsm(tmp_path, **settings(tmp_path, compare=["on_detection"])))
    assert [(one.attempt, one.first_answer, one.answer, one.injected) for one in answers] == [
        (0, "", "Hello.", False), (1, "Sorry, hello.", "Hello again.", True),
    ]  # fmt: skip
    assert [(one.model_calls, one.detector_calls) for one in answers] == [(1, 1), (2, 1)]
    lines = layout.detections(tmp_path).read_text().splitlines()
    assert sorted((line["attempt"], len(line["conflicts"])) for line in map(json.loads, lines)) == [
        (0, 0),
        (1, 1),
    ]


def test_an_attempt_is_tried_again_with_its_own_draw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = Saying(lambda ask: f"drawn with {ask.seed}")
    for module in ("slsm_stage", "what_if"):
        monkeypatch.setattr(f"engine.slsm.{module}.make_chat_model", lambda *_: model)
    fields = settings(tmp_path, compare=["baseline"])
    first, second = answers_of(run_slsm(tmp_path, **fields))
    assert first.answer != second.answer
    what_if = WhatIf(small_context(tmp_path, [], **fields))
    for one in (first, second):
        request = WhatIfRequest(conversation="c", mode="baseline", attempt=one.attempt)
        tried = what_if.tried(request)
        assert (tried.exact, tried.committed.text, tried.case["attempt"]) == (True, one.answer, one.attempt)
