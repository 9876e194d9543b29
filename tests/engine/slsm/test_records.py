"""States that are read back from a file."""

from __future__ import annotations

from typing import Any

import pytest

from engine.errors import DataError
from engine.events import StateUpdated
from engine.slsm.records import StateRecord
from engine.slsm.state import Constraint, FlatState, Plan, SemanticState


def record(memory: str, state: dict[str, Any]) -> StateRecord:
    event = StateUpdated(conversation_id="c", memory_mode=memory, turn=2, plan_mode="verify")
    return StateRecord(conversation_id="c", memory_mode=memory, turn=2, state=state, event=event)


def test_a_state_is_restored_as_its_memory_mode_says() -> None:
    structured = SemanticState(
        constraints=(Constraint(id="C1", text="t"),), plan=Plan(mode="verify", reasons=("a",))
    )
    flat = FlatState(memory_text="t", mismatch=True)
    for memory, state in (("structured", structured), ("flat", flat)):
        assert record(memory, state.model_dump(mode="json")).restored() == state


def test_a_state_that_is_none_names_its_place() -> None:
    bad = {"constraints": [{"id": "C1", "text": "t", "status": "kept"}]}
    with pytest.raises(DataError) as caught:
        record("structured", bad).restored()
    assert str(caught.value) == (
        "a kept state is none: constraints.0.status: Input should be 'active', 'satisfied' or 'violated' "
        "(slsm/states.jsonl: c, structured, turn 2): restore the file, or remove it so that its stage writes it again"
    )


@pytest.mark.parametrize("memory", ["structured", "flat"])
def test_a_state_with_a_field_of_its_own_is_none(memory: str) -> None:
    with pytest.raises(DataError, match="a kept state is none: more: Extra inputs are not permitted"):
        record(memory, {"more": 1}).restored()
