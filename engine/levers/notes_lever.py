"""Memory notes as a lever: a controller reads the conversation, and what it holds is repeated beside the question."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from engine.config.slsm import SLSMSection
from engine.errors import DataError
from engine.levers.lever import NOTES, CountTokens, Edited, LeverDid, Message, last_user, with_last
from engine.servers.spent import Spent
from engine.slsm.controllers.controller import MemoryController
from engine.slsm.controllers.state_tracking import gated
from engine.slsm.note import with_note
from engine.slsm.outcome import reason_of
from engine.slsm.policy import decide, note_of
from engine.slsm.state import MemoryMode, State, empty_state
from engine.slsm.turns import Turn, turns_of

NotesMode = Literal["on_risk", "always", "on_detection"]
_REMEMBERED = 256
"""Conversations whose states are kept: the next request of one goes on from there."""


@dataclass(frozen=True)
class Read:
    """A conversation as the controller read it."""

    turns: tuple[Turn, ...]
    state: State
    spent: Spent


class NotesLever:
    """The controller and the rules of a run. Several threads may use it."""

    def __init__(self, section: SLSMSection, controller: MemoryController) -> None:
        self._section = section
        self._controller = controller
        self._memory: MemoryMode = section.memory_mode
        self._states: OrderedDict[tuple[Turn, ...], State] = OrderedDict()
        self._lock = threading.Lock()
        self.about = f"notes of the controller {controller.name}, {self._memory}"

    @property
    def run_mode(self) -> NotesMode:
        """That of `slsm.inject`; `on_risk` where a request cannot choose it."""
        mode = self._section.inject
        return mode if mode == "always" or mode == "on_detection" else "on_risk"

    def read(self, messages: Sequence[Message]) -> Read:
        """The state after the last message. Raises DataError for a conversation without turns."""
        try:
            turns = turns_of(messages)
        except ValueError as error:
            raise DataError(
                what=str(error), where="messages", hint="begin with a message of the user"
            ) from error
        state, done = self._known(turns)
        spent = Spent()
        for number in range(done, len(turns)):
            update = self._controller.update(state, turns[: number + 1])
            spent += update.spent
            state = gated(state, update, turns[number], self._section.gated_kinds).state
            self._remember(turns[: number + 1], state)
        return Read(turns, state, spent)

    def add(
        self, messages: Sequence[Message], read: Read, mode: NotesMode, count_tokens: CountTokens
    ) -> Edited:
        """The conversation with the note behind its last message, if `mode` puts it there now."""
        note = self._note(read)
        decision = decide(mode, read.state, note, self._section.risk_modes)
        if not decision.inject:
            return Edited([*messages], _did(False, f"no note: {decision.reason}", read.spent))
        return self._given(messages, note, f"a note ({decision.reason})", read.spent, count_tokens)

    def after(
        self, messages: Sequence[Message], read: Read, answer: str, count_tokens: CountTokens
    ) -> Edited | LeverDid:
        """After a first answer without a note: the conversation to answer a second time where the first goes against
        the memory, else what was found."""
        detection = self._controller.detect(read.state, read.turns, answer)
        note, spent = self._note(read), read.spent + detection.spent
        if not detection.conflicts or not note:
            return _did(False, f"no note: {reason_of(detection, note)}", spent)
        why = "; ".join(conflict.why for conflict in detection.conflicts)
        return self._given(messages, note, f"answered again with a note: {why}", spent, count_tokens)

    def _given(
        self, messages: Sequence[Message], note: str, what: str, spent: Spent, count_tokens: CountTokens
    ) -> Edited:
        edited = with_last(messages, with_note(last_user(messages), note))
        return Edited(edited, _did(True, what, spent, count_tokens(note)))

    def _note(self, read: Read) -> str:
        return note_of(read.state, self._section.note_max_items)

    def _known(self, turns: tuple[Turn, ...]) -> tuple[State, int]:
        """The state of the longest beginning that was read before, and its number of turns."""
        with self._lock:
            for count in range(len(turns), 0, -1):
                state = self._states.get(turns[:count])
                if state is not None:
                    self._states.move_to_end(turns[:count])
                    return state, count
        return empty_state(self._memory), 0

    def _remember(self, turns: tuple[Turn, ...], state: State) -> None:
        with self._lock:
            self._states[turns] = state
            while len(self._states) > _REMEMBERED:
                self._states.popitem(last=False)


def _did(acted: bool, what: str, spent: Spent, tokens: int = 0) -> LeverDid:
    return LeverDid(
        lever=NOTES, acted=acted, what=what, tokens=tokens + spent.tokens, calls=spent.calls, price=spent.cost
    )
