"""Records of the stage's JSONL files."""

from __future__ import annotations

from typing import Any

import msgspec
from pydantic import ValidationError

from engine.errors import DataError
from engine.events import AnswerConflict, StateUpdated
from engine.files import RESTORE
from engine.servers.spent import Spent
from engine.slsm.state import FlatState, SemanticState, State

TurnKey = tuple[str, int]
"""A conversation's id and a turn."""
StateKey = tuple[str, str, int]
"""A conversation's id, memory mode, turn."""
AnswerKey = tuple[str, int, str]
"""A conversation's id, attempt, note."""
DetectionKey = tuple[str, str, int]
"""A conversation's id, memory mode, attempt."""
VerdictKey = tuple[str, str]
"""A conversation's id and an answer."""


class TurnRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The model's own answer in an earlier turn."""

    conversation_id: str
    turn: int
    answer: str

    def key(self) -> TurnKey:
        return self.conversation_id, self.turn


class StateRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The state after a turn, as JSON, and the event that reported it."""

    conversation_id: str
    memory_mode: str
    turn: int
    state: dict[str, Any]
    event: StateUpdated

    def key(self) -> StateKey:
        return self.conversation_id, self.memory_mode, self.turn

    def restored(self) -> State:
        """The state, parsed. Raises DataError where it is malformed."""
        kind = SemanticState if self.memory_mode == "structured" else FlatState
        try:
            return kind.model_validate_json(msgspec.json.encode(self.state))
        except ValidationError as error:
            first = error.errors()[0]
            raise DataError(
                what=f"a kept state is none: {'.'.join(map(str, first['loc']))}: {first['msg']}",
                where=f"slsm/states.jsonl: {self.conversation_id}, {self.memory_mode}, turn {self.turn}",
                hint=RESTORE,
            ) from error


class ChatAnswerRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A model's answer. `note`: the note behind the user's last message; `cut`: it ends at the limit of tokens;
    `failure`: why there is none."""

    conversation_id: str
    attempt: int
    note: str
    answer: str
    cost: Spent
    cut: bool = False
    failure: str = ""

    def key(self) -> AnswerKey:
        return self.conversation_id, self.attempt, self.note


class DetectionRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Conflicts of the first answer with the state."""

    conversation_id: str
    memory_mode: str
    attempt: int
    conflicts: list[AnswerConflict]
    failure: str
    cost: Spent

    def key(self) -> DetectionKey:
        return self.conversation_id, self.memory_mode, self.attempt


class VerdictRecord(msgspec.Struct, frozen=True):
    """A judge's verdict. `passed`: None if the judge gave no verdict, for the reason in `reason`."""

    conversation_id: str
    answer: str
    passed: bool | None
    reason: str
    cost: Spent

    def key(self) -> VerdictKey:
        return self.conversation_id, self.answer
