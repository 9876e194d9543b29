"""What the stage writes down, line by line."""

from __future__ import annotations

from typing import Any

import msgspec

from engine.events import ConflictFound, StateUpdated
from engine.servers.spent import Spent
from engine.slsm.state import FlatState, SemanticState, State


class StateRecord(msgspec.Struct, frozen=True, kw_only=True):
    """`event`: what was told of it; `state`: as JSON."""

    conversation_id: str
    memory_mode: str
    turn: int
    state: dict[str, Any]
    event: StateUpdated

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


class DetectionRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Conflicts of the first answer with the state."""

    conversation_id: str
    memory_mode: str
    attempt: int
    conflicts: list[ConflictFound]
    failure: str
    cost: Spent


class VerdictRecord(msgspec.Struct, frozen=True, kw_only=True):
    """`passed` None: no verdict could be had, `reason` says why."""

    conversation_id: str
    answer: str
    passed: bool | None
    reason: str
    cost: Spent
