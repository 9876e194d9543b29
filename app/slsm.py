"""Conversations and their memory as the stage's events tell them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import NamedTuple

from app.columns import Grow
from app.decisions import Place
from engine import events as ev


class ResultRow(NamedTuple):
    """An answer under a mode as a list shows it; the rest stands in the log."""

    conversation_id: str
    axis: str
    mode: str
    memory_mode: str
    attempt: int
    passed: bool | None
    injected: bool
    second: bool
    note_tokens: int
    answer: str
    turns: int
    failures: int
    place: Place


class SLSMState:
    """Everything the SLSM screen knows. Read it; only `apply` of a fold changes it."""

    def __init__(self) -> None:
        self.began: ev.SLSMBegan | None = None
        self.opened: dict[str, Place] = {}
        self.turns: dict[str, int] = {}
        self.states: dict[tuple[str, str], dict[int, Place]] = {}
        self.failures: dict[tuple[str, str], int] = {}
        self.results: Grow[ResultRow] = Grow()
        self.modes: dict[tuple[str, str], ev.ModeScored] = {}

    def share(self) -> SLSMState:
        """The state as of now, which can be folded on by itself."""
        other = copy.copy(self)
        other.results = self.results.share()
        other.opened, other.turns, other.modes = dict(self.opened), dict(self.turns), dict(self.modes)
        other.states = {key: dict(places) for key, places in self.states.items()}
        other.failures = dict(self.failures)
        return other

    def states_of(self, row: ResultRow) -> dict[int, Place]:
        """Where the states of a result's conversation stand, by turn; none for `baseline`."""
        return self.states.get((row.conversation_id, row.memory_mode), {})


def _began(state: SLSMState, event: ev.SLSMBegan, place: Place) -> None:
    state.began = event


def _opened(state: SLSMState, event: ev.ConversationOpened, place: Place) -> None:
    state.opened[event.conversation_id] = place
    state.turns[event.conversation_id] = len(event.turns)


def _updated(state: SLSMState, event: ev.StateUpdated, place: Place) -> None:
    key = event.conversation_id, event.memory_mode
    turns = state.states.setdefault(key, {})
    if event.failure and event.turn not in turns:
        state.failures[key] = state.failures.get(key, 0) + 1
    turns[event.turn] = place


def _answered(state: SLSMState, event: ev.ConversationAnswered, place: Place) -> None:
    key = event.conversation_id, event.memory_mode
    row = ResultRow(
        event.conversation_id,
        event.axis,
        event.mode,
        event.memory_mode,
        event.attempt,
        event.passed,
        event.injected,
        bool(event.first_answer),
        event.note_tokens,
        event.answer,
        state.turns.get(event.conversation_id, 0),
        state.failures.get(key, 0) + bool(event.detector_failure),
        place,
    )
    state.results.append(row, key=(*key, event.mode, event.attempt))


def _scored(state: SLSMState, event: ev.ModeScored, place: Place) -> None:
    state.modes[event.mode, event.memory_mode] = event


SLSM_FOLDS: dict[type, Callable[..., None]] = {
    ev.SLSMBegan: _began,
    ev.ConversationOpened: _opened,
    ev.StateUpdated: _updated,
    ev.ConversationAnswered: _answered,
    ev.ModeScored: _scored,
}
