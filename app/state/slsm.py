"""Conversations and their memory, folded from the events of the stage."""

from __future__ import annotations

from typing import NamedTuple

from app.state.columns import AppendOnlyList
from app.state.method import MethodState, row_of
from engine import events as ev
from engine.run.event_log import LogPlace


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
    undetected: bool
    place: LogPlace


class Opened(NamedTuple):
    """A conversation: how many turns it has, and where it stands in the log."""

    turns: int
    place: LogPlace


class StateAt(NamedTuple):
    """A state after a turn: whether the controller failed there, and where it stands in the log."""

    failed: bool
    place: LogPlace


class SLSMState(MethodState):
    """Everything the SLSM screen knows. Read it; only `apply` of a fold changes it."""

    title = "SLSM"
    stages_shown = ("slsm",)
    page = "app.methods.slsm.page:PAGE"
    screen = "screens.slsm.screen:SLSMScreen"

    def __init__(self) -> None:
        self.began: ev.SLSMBegan | None = None
        self.opened: AppendOnlyList[Opened] = AppendOnlyList()
        self.states: AppendOnlyList[StateAt] = AppendOnlyList()
        self.results: AppendOnlyList[ResultRow] = AppendOnlyList()
        self.modes: dict[tuple[str, str], ev.ModeScored] = {}

    @property
    def failures(self) -> int:
        """Of the controller's calls after turns and about answers; modes share the detection of one answer."""
        rows = (row for row in self.results if row.undetected)
        undetected = {(row.conversation_id, row.memory_mode, row.attempt) for row in rows}
        return sum(state.failed for state in self.states) + len(undetected)

    def turns(self, conversation_id: str) -> int:
        """Of a conversation; 0 where its beginning is not known."""
        opened = self.opened.find(conversation_id)
        return 0 if opened is None else opened.turns

    def place(self, conversation_id: str) -> LogPlace | None:
        """Where a conversation stands in the log."""
        opened = self.opened.find(conversation_id)
        return None if opened is None else opened.place

    def states_of(self, answer: ResultRow | ev.ConversationAnswered) -> dict[int, StateAt]:
        """The states of an answer's conversation, by turn; none for `baseline`."""
        key = answer.conversation_id, answer.memory_mode
        turns = range(self.turns(answer.conversation_id))
        return {turn: state for turn in turns if (state := self.states.find((*key, turn))) is not None}

    def plain(self, row: ResultRow) -> ResultRow | None:
        """The answer to the same conversation without a controller, once there is one."""
        return self.results.find((row.conversation_id, "none", "baseline", row.attempt))

    def against_plain(self, row: ResultRow) -> int:
        """1 where a note turned an answer right that is wrong without a controller, -1 where wrong; else 0."""
        before = self.plain(row)
        if not row.injected or before is None or None in (before.passed, row.passed):
            return 0
        return int(bool(row.passed)) - int(bool(before.passed))


SLSMState.keeps(ev.SLSMBegan, "began")
SLSMState.keeps(ev.ModeScored, "modes", "mode", "memory_mode")


@SLSMState.on(ev.ConversationOpened)
def _opened(state: SLSMState, event: ev.ConversationOpened, place: LogPlace) -> None:
    state.opened.append(Opened(len(event.turns), place), key=event.conversation_id)


@SLSMState.on(ev.StateUpdated)
def _updated(state: SLSMState, event: ev.StateUpdated, place: LogPlace) -> None:
    key = event.conversation_id, event.memory_mode, event.turn
    state.states.append(StateAt(bool(event.failure), place), key=key)


@SLSMState.on(ev.ConversationAnswered)
def _answered(state: SLSMState, event: ev.ConversationAnswered, place: LogPlace) -> None:
    key = event.conversation_id, event.memory_mode
    failures = sum(each.failed for each in state.states_of(event).values()) + bool(event.detector_failure)
    row = row_of(
        ResultRow, event, place, second=bool(event.first_answer), turns=state.turns(event.conversation_id),
        failures=failures, undetected=bool(event.detector_failure),
    )  # fmt: skip
    state.results.append(row, key=(*key, event.mode, event.attempt))
