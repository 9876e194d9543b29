"""Conversations and their memory, folded from the events of the stage."""

from __future__ import annotations

from typing import NamedTuple

from app.state.columns import Grow
from app.state.method import MethodState, Place
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


class SLSMState(MethodState):
    """Everything the SLSM screen knows. Read it; only `apply` of a fold changes it."""

    title = "SLSM"
    stages_shown = ("slsm",)
    screen = "screens.slsm.screen:SLSMScreen"

    def __init__(self) -> None:
        self.began: ev.SLSMBegan | None = None
        self.opened: dict[str, Place] = {}
        self.turns: dict[str, int] = {}
        self.states: dict[tuple[str, str], dict[int, Place]] = {}
        self.failures: dict[tuple[str, str], int] = {}
        self.results: Grow[ResultRow] = Grow()
        self.modes: dict[tuple[str, str], ev.ModeScored] = {}

    def states_of(self, row: ResultRow) -> dict[int, Place]:
        """Where the states of a result's conversation stand, by turn; none for `baseline`."""
        return self.states.get((row.conversation_id, row.memory_mode), {})

    def turned(self, mode: str, baseline: str, memory: str = "") -> tuple[list[int], list[int]]:
        """Numbers of the mode's results in which a note turned an answer of `baseline` right, and of those in which it
        turned one wrong. Without `memory` those of the kind that answered first: the verdict is about them."""
        rows = [(at, row) for at, row in enumerate(self.results) if row.mode == mode and row.injected]
        memory = memory or (rows[0][1].memory_mode if rows else "")
        plain = {
            (row.conversation_id, row.attempt): row.passed for row in self.results if row.mode == baseline
        }
        right: list[int] = []
        wrong: list[int] = []
        for at, row in rows:
            before = plain.get((row.conversation_id, row.attempt))
            if row.memory_mode == memory and None not in (before, row.passed) and before != row.passed:
                (right if row.passed else wrong).append(at)
        return right, wrong


@SLSMState.on(ev.SLSMBegan)
def _began(state: SLSMState, event: ev.SLSMBegan, place: Place) -> None:
    state.began = event


@SLSMState.on(ev.ConversationOpened)
def _opened(state: SLSMState, event: ev.ConversationOpened, place: Place) -> None:
    state.opened[event.conversation_id] = place
    state.turns[event.conversation_id] = len(event.turns)


@SLSMState.on(ev.StateUpdated)
def _updated(state: SLSMState, event: ev.StateUpdated, place: Place) -> None:
    key = event.conversation_id, event.memory_mode
    turns = state.states.setdefault(key, {})
    if event.failure and event.turn not in turns:
        state.failures[key] = state.failures.get(key, 0) + 1
    turns[event.turn] = place


@SLSMState.on(ev.ConversationAnswered)
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


@SLSMState.on(ev.ModeScored)
def _scored(state: SLSMState, event: ev.ModeScored, place: Place) -> None:
    state.modes[event.mode, event.memory_mode] = event
