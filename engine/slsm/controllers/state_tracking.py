"""Tracks conversations turn by turn: the state after each, for each memory mode (spec SLSM, the controller)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from msgspec.structs import asdict

from engine.events import ConversationOpened, StateChange, StateItem, StateUpdated
from engine.run.keyed_records import KeyedRecords
from engine.run.stage import StageContext
from engine.servers.side_by_side import ServerFailures, for_each_side_by_side
from engine.servers.spent import Spent
from engine.slsm.controllers.controller import MemoryController, Update
from engine.slsm.controllers.diff import StateDiff, apply_diff, flat_changes, gate_facts_by_evidence
from engine.slsm.records import StateKey, StateRecord
from engine.slsm.state import KINDS, FlatState, Item, MemoryMode, SemanticState, State, empty_state
from engine.slsm.turns import Conversation, Turn

Job = tuple[Conversation, MemoryMode, int]
"""Conversation, memory mode, turn."""


@dataclass
class StateTracker:
    """Computes and keeps the states of conversations; a turn with a recorded state is not analysed again."""

    context: StageContext
    controller: MemoryController
    states: KeyedRecords[StateKey, StateRecord]

    def __post_init__(self) -> None:
        self.section = self.context.config.slsm
        self._failures = ServerFailures(self._write)

    def track(self, conversations: Sequence[Conversation], modes: Sequence[MemoryMode]) -> None:
        """Analyse every turn: first turns of all conversations, then second turns, and so on. Raises SteerError where
        the controller's server fails at many turns in a row, or at all of two or more."""
        for conversation in conversations:
            turns = [
                [turn.user] + ([] if turn.assistant is None else [turn.assistant])
                for turn in conversation.turns
            ]
            self.context.emit(
                ConversationOpened(conversation_id=conversation.id, axis=conversation.axis, turns=turns)
            )
        for number in range(max((len(conversation.turns) for conversation in conversations), default=0)):
            jobs: list[Job] = []
            for conversation in conversations:
                for mode in modes if number < len(conversation.turns) else ():
                    record = self.states.get((conversation.id, mode, number))
                    if record is None:
                        jobs.append((conversation, mode, number))
                    else:
                        self.context.emit(record.event)
            for_each_side_by_side(
                self._update, jobs, self.section.concurrency, self._record, self.context.checkpoint
            )
            self._failures.end(len(jobs))

    def state(self, conversation: Conversation, mode: str, turn: int | None = None) -> State:
        """The state after `turn`, by default the last turn."""
        number = len(conversation.turns) - 1 if turn is None else turn
        return empty_state(mode) if number < 0 else self.states[conversation.id, mode, number].restored()

    def cost(self, conversation: Conversation, mode: str) -> Spent:
        """Cost of tracking a conversation; a turn counts as one call, whatever the number of requests."""
        total = Spent()
        for number in range(len(conversation.turns)):
            event = self.states[conversation.id, mode, number].event
            total += Spent(1, event.tokens, event.cost)
        return total

    def failures(self) -> int:
        """Number of turns whose update was lost."""
        return sum(bool(record.event.failure) for record in self.states.values())

    def _update(self, job: Job) -> Update:
        conversation, mode, number = job
        before = self.state(conversation, mode, number - 1)
        update = self.controller.update(before, conversation.turns[: number + 1])
        return gated(before, update, conversation.turns[number], self.section.gated_kinds)

    def _record(self, job: Job, update: Update) -> None:
        conversation, mode, number = job
        event = state_event(conversation.id, mode, number, self.state(conversation, mode, number - 1), update)
        record = StateRecord(
            conversation_id=conversation.id,
            memory_mode=mode,
            turn=number,
            state=update.state.model_dump(mode="json"),
            event=event,
        )
        self._failures.take(record, update.suspect)

    def _write(self, record: StateRecord) -> None:
        self.context.emit(record.event)
        self.states.add(record)


def gated(before: State, update: Update, turn: Turn, kinds: Collection[str]) -> Update:
    """The update without items of `kinds` whose quote does not occur in the turn."""
    if update.diff is None or not kinds or not isinstance(before, SemanticState):
        return update
    diff = gate_facts_by_evidence(update.diff, turn.text, kinds)
    return replace(update, state=apply_diff(before, diff), diff=diff)


def state_event(key: str, mode: str, number: int, before: State, update: Update) -> StateUpdated:
    """The event that reports an update."""
    state, diff = update.state, update.diff or StateDiff()
    new, removed = [], []
    if isinstance(state, FlatState) and isinstance(before, FlatState):
        new, removed = flat_changes(before, state)
    return StateUpdated(
        conversation_id=key,
        memory_mode=mode,
        turn=number,
        plan_mode=state.plan.mode,
        reasons=list(state.plan.reasons),
        items=_items(state),
        changes=[
            StateChange(
                operation=change.operation,
                item=_item(change.kind, change.item),
                before=change.before.text if change.before is not None else "",
                why=change.why,
            )
            for change in diff.changes
        ],
        gated=[_item("", item) for item in diff.gated],
        memory_text=state.memory_text if isinstance(state, FlatState) else "",
        new_text=new,
        gone_text=removed,
        mismatch=isinstance(state, FlatState) and state.mismatch,
        failure=update.failure,
        **asdict(update.spent),
    )


def _items(state: State) -> list[StateItem]:
    if not isinstance(state, SemanticState):
        return []
    return [_item(kind, item) for kind in KINDS for item in state.items(kind)]


def _item(kind: str, item: Item) -> StateItem:
    return StateItem(
        kind=kind, id=item.id, text=item.text, status=getattr(item, "status", ""), evidence=item.evidence
    )
