"""Earlier answers that the data leaves open: asked turn by turn, with what was said before and without a note."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from engine.run.keyed_records import KeyedRecords
from engine.servers.client import ServerFailed
from engine.servers.spent import Spent
from engine.slsm import layout
from engine.slsm.chat_model import ChatAnswer, ChatAsk, Given
from engine.slsm.model_turns import ModelTurns
from engine.slsm.records import TurnRecord
from engine.slsm.turns import Conversation, Turn
from engine.slsm.turns import turns_of as parse_turns
from tests.engine.slsm.small_run import small_context

LONG = Conversation("long", (Turn("a"), Turn("b", "given"), Turn("c"), Turn("d")))
SHORT = Conversation("short", (Turn("x"), Turn("y")))


class Numbering:
    """Answers with the number of the ask."""

    def __init__(self, suspect: ServerFailed | None = None) -> None:
        self.batches: list[list[ChatAsk]] = []
        self.suspect = suspect

    def answer(self, asks: Sequence[ChatAsk], checkpoint: Any, keep: Given) -> None:
        self.batches.append(list(asks))
        for number, ask in enumerate(asks):
            text = f"to {ask.messages[-1]['content']}"
            keep(number, ChatAnswer(text, Spent(), suspect=self.suspect))


def turns_of(folder: Path, model: Numbering, **slsm: Any) -> ModelTurns:
    context = small_context(folder, [], **slsm)
    return ModelTurns(context, model, KeyedRecords(layout.turns(folder), TurnRecord, TurnRecord.key))  # type: ignore[arg-type]


def test_open_turns_are_answered_in_order_and_kept(tmp_path: Path) -> None:
    model = Numbering()
    turns = turns_of(tmp_path, model)
    filled = turns.fill([SHORT, LONG])
    assert filled[0].turns == (Turn("x", "to x"), Turn("y"))
    assert filled[1].turns == (Turn("a", "to a"), Turn("b", "given"), Turn("c", "to c"), Turn("d"))
    first, second = model.batches
    assert [(one.conversation, len(one.messages)) for one in first] == [("short", 1), ("long", 1)]
    assert [(one.conversation, [m["content"] for m in one.messages]) for one in second] == [
        ("long", ["a", "to a", "b", "given", "c"])
    ]
    context = turns.context
    assert [one.seed for one in (*first, *second)] == [
        context.seed("turn short", 0), context.seed("turn long", 0), context.seed("turn long", 2),
    ]  # fmt: skip
    again = turns_of(tmp_path, Numbering())
    assert again.fill([SHORT, LONG]) == filled and not again.model.batches, "asked once"  # type: ignore[attr-defined]
    assert turns.fill([]) == []


def test_a_system_message_and_neighbours_stand_where_they_were(tmp_path: Path) -> None:
    given = [
        ("system", "S"),
        ("user", "a"),
        ("user", "b"),
        ("assistant", None),
        ("system", "T"),
        ("user", "c"),
    ]
    talk = Conversation("one", parse_turns([{"role": role, "content": text} for role, text in given]))
    model = Numbering()
    (filled,) = turns_of(tmp_path, model).fill([talk])
    assert filled.turns == (Turn("S\n\na\n\nb", "to b"), Turn("T\n\nc"))
    first = [{"role": role, "content": text} for role, text in given[:3]]
    assert [list(ask.messages) for ask in model.batches[0]] == [first]
    answer, last = {"role": "assistant", "content": "to b"}, {"role": "user", "content": "c\n\nN"}
    assert filled.messages("N") == [*first, answer, {"role": "system", "content": "T"}, last]


def test_a_batch_has_no_more_than_asked_for(tmp_path: Path) -> None:
    model = Numbering()
    turns_of(tmp_path, model, batch_size=1).fill([SHORT, LONG])
    assert [len(batch) for batch in model.batches] == [1, 1, 1]


def test_a_server_that_refuses_a_turn_ends_the_stage(tmp_path: Path) -> None:
    suspect = ServerFailed(what="no such model", where="w", hint="h")
    turns = turns_of(tmp_path, Numbering(suspect))
    with pytest.raises(ServerFailed, match="no such model"):
        turns.fill([SHORT])
    assert not turns.records
