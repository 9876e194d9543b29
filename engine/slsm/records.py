"""What the stage writes down, line by line."""

from __future__ import annotations

from typing import Any

import msgspec

from engine.events import ConflictFound, StateUpdated
from engine.servers.spent import Spent
from engine.slsm.state import FlatState, SemanticState, State

StateKey = tuple[str, str, int]
"""A conversation's id, memory mode, turn."""
AnswerKey = tuple[str, int, str]
"""A conversation's id, attempt, note."""
DetectionKey = tuple[str, str, int]
"""A conversation's id, memory mode, attempt."""
Case = tuple[str, str]
"""A conversation's id and an answer."""


class StateRecord(msgspec.Struct, frozen=True, kw_only=True):
    """`event`: what was told of it; `state`: as JSON."""

    conversation_id: str
    memory_mode: str
    turn: int
    state: dict[str, Any]
    event: StateUpdated

    def key(self) -> StateKey:
        return self.conversation_id, self.memory_mode, self.turn

    def restored(self) -> State:
        """The state."""
        kind = SemanticState if self.memory_mode == "structured" else FlatState
        return kind.model_validate_json(msgspec.json.encode(self.state))


class AnswerRecord(msgspec.Struct, frozen=True, kw_only=True):
    """`note`: what stood behind the user's last message."""

    conversation_id: str
    attempt: int
    note: str
    answer: str
    cost: Spent

    def key(self) -> AnswerKey:
        return self.conversation_id, self.attempt, self.note


class DetectionRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Conflicts of the first answer with the state."""

    conversation_id: str
    memory_mode: str
    attempt: int
    conflicts: list[ConflictFound]
    failure: str
    cost: Spent

    def key(self) -> DetectionKey:
        return self.conversation_id, self.memory_mode, self.attempt


class VerdictRecord(msgspec.Struct, frozen=True, kw_only=True):
    """`passed` None: no verdict could be had, `reason` says why."""

    conversation_id: str
    answer: str
    passed: bool | None
    reason: str
    cost: Spent

    def key(self) -> Case:
        return self.conversation_id, self.answer
