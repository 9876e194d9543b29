"""What is told of an update."""

from __future__ import annotations

from engine.slsm.controllers.controller import Update
from engine.slsm.controllers.state_tracking import state_event
from engine.slsm.state import FlatState


def test_of_a_flat_memory_it_is_told_which_sentences_came_and_which_went() -> None:
    before = FlatState(memory_text="The dog is Rex. Use bullets.")
    after = FlatState(memory_text="The dog is Max. Use bullets.", mismatch=True)
    event = state_event("talk", "flat", 3, before, Update(after))
    assert (event.new_text, event.gone_text) == (["The dog is Max"], ["The dog is Rex"])
    assert (event.conversation_id, event.memory_mode, event.turn) == ("talk", "flat", 3)
    assert (event.memory_text, event.mismatch, event.items) == (after.memory_text, True, [])
