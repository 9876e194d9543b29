"""Turns that the model wrote itself, tried again; and what is said of a turn or a note that is not there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine.errors import DataError
from engine.slsm.what_if import WhatIf, WhatIfRequest
from tests.engine.slsm.small_run import small_context
from tests.engine.slsm.stage_run import run_slsm
from tests.engine.slsm.test_attempts import Saying

CHAT: list[dict[str, Any]] = [
    {"role": "user", "content": "Hi!"},
    {"role": "assistant", "content": None},
    {"role": "user", "content": "And you?"},
    {"role": "assistant", "content": None},
    {"role": "user", "content": "Bye!"},
]
REQUEST: dict[str, Any] = {"conversation": "c", "mode": "always", "memory_mode": "structured"}


@pytest.fixture
def fields(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The settings of a run whose model says which draw an answer is."""
    path = tmp_path / "chats.jsonl"
    path.write_text(json.dumps({"id": "c", "messages": CHAT}))
    made = {"data": {"path": str(path)}, "judge": {"kind": "none"}, "inject": "always"}
    say(monkeypatch, "drawn with")
    run_slsm(tmp_path, **made)
    return made


def say(monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    model = Saying(lambda ask: f"{words} {ask.seed}")
    for module in ("slsm_stage", "what_if"):
        monkeypatch.setattr(f"engine.slsm.{module}.make_chat_model", lambda *_: model)


@pytest.mark.parametrize("turn", [0, 1])
def test_a_turn_of_the_model_comes_again_with_its_own_draw(
    tmp_path: Path, fields: dict[str, Any], monkeypatch: pytest.MonkeyPatch, turn: int
) -> None:
    context = small_context(tmp_path, [], **fields)
    tried = WhatIf(context).tried(WhatIfRequest(**REQUEST, turn=turn))
    assert (tried.exact, tried.difference, tried.question) == (True, "", CHAT[2 * turn]["content"])
    assert tried.committed.text == f"drawn with {context.seed('turn c', turn)}"
    say(monkeypatch, "another")
    tried = WhatIf(context).tried(WhatIfRequest(**REQUEST, turn=turn))
    assert (tried.exact, tried.difference) == (False, "the model wrote something else then")


def test_an_empty_memory_gives_no_note(tmp_path: Path, fields: dict[str, Any]) -> None:
    tried = WhatIf(small_context(tmp_path, [], **fields)).tried(WhatIfRequest(**REQUEST, source="structured"))
    assert [(one.given, one.note, one.tokens) for one in tried.yours] == [("an empty memory: no note", "", 0)]


def test_turns_are_counted_from_1_where_there_is_no_such_one(tmp_path: Path, fields: dict[str, Any]) -> None:
    what_if = WhatIf(small_context(tmp_path, [], **fields))
    with pytest.raises(DataError) as caught:
        what_if.tried(WhatIfRequest(**REQUEST, turn=3))
    assert str(caught.value) == "the conversation has no turn 4 (c): choose one of 1 to 3"
