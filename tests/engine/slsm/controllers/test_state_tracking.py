"""What is told of an update."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from engine.events import ConversationOpened, Event, StateChange, StateItem, StateUpdated
from engine.servers.spent import Spent
from engine.slsm.controllers.controller import Detection, Update
from engine.slsm.controllers.diff import Change, StateDiff
from engine.slsm.controllers.state_tracking import state_event
from engine.slsm.state import Constraint, Fact, FlatState, Plan, SemanticState, State
from engine.slsm.turns import Turn
from tests.engine.slsm.small_run import conversation, small_context, tracked


def test_of_a_flat_memory_it_is_told_which_sentences_came_and_which_went() -> None:
    before = FlatState(memory_text="The dog is Rex. Use bullets.")
    after = FlatState(memory_text="The dog is Max. Use bullets.", mismatch=True)
    event = state_event("talk", "flat", 3, before, Update(after))
    assert (event.new_text, event.gone_text) == (["The dog is Max"], ["The dog is Rex"])
    assert (event.conversation_id, event.memory_mode, event.turn) == ("talk", "flat", 3)
    assert (event.memory_text, event.mismatch, event.items) == (after.memory_text, True, [])


def test_of_a_structured_memory_every_change_is_told_with_what_was_before() -> None:
    old = Constraint(id="C1", text="Be brief", status="satisfied", evidence="be brief")
    new = old.model_copy(update={"status": "violated", "text": "Be brief and kind"})
    cat, gone = Fact(id="F2", text="The cat is Tom", evidence="my cat"), Fact(id="F1", text="The dog is Rex")
    lost = Fact(id="F9", text="Not said", evidence="nowhere")
    after = SemanticState(constraints=(new,), facts=(cat,), plan=Plan(mode="verify", reasons=("a", "b")))
    changes = (
        Change("added", "facts", cat),
        Change("changed", "constraints", new, old),
        Change("resolved", "facts", gone, why="it ran away"),
    )
    update = Update(after, StateDiff(changes, after.plan, gated=(lost,)), "", Spent(2, 30, 0.5))
    before = SemanticState(constraints=(old,), facts=(gone,))
    constraint = StateItem(
        kind="constraints", id="C1", text="Be brief and kind", status="violated", evidence="be brief"
    )
    fact = StateItem(kind="facts", id="F2", text="The cat is Tom", evidence="my cat")
    assert state_event("talk", "structured", 1, before, update) == StateUpdated(
        conversation_id="talk", memory_mode="structured", turn=1, plan_mode="verify", reasons=["a", "b"],
        items=[fact, constraint],
        changes=[
            StateChange(operation="added", item=fact),
            StateChange(operation="changed", item=constraint, before="Be brief"),
            StateChange(
                operation="resolved", item=StateItem(kind="facts", id="F1", text="The dog is Rex"), why="it ran away"
            ),
        ],
        gated=[StateItem(kind="", id="F9", text="Not said", evidence="nowhere")], calls=2, tokens=30, cost=0.5,
    )  # fmt: skip


class Repeating:
    """A controller that remembers what the user said last."""

    name = "repeating"

    def update(self, state: State, turns: Sequence[Turn]) -> Update:
        return Update(FlatState(memory_text=turns[-1].user), spent=Spent(3, 10, 0.25))

    def detect(self, state: State, turns: Sequence[Turn], answer: str) -> Detection:
        raise NotImplementedError


def test_each_turn_is_told_beside_the_one_before(tmp_path: Path) -> None:
    events: list[Event] = []
    talk = conversation("talk", "Tea.", "Yes.", "Tea. Rice.", "No.", "Rice.", axis="memory")
    found = tracked(small_context(tmp_path, events), Repeating())
    found.track([talk], ["flat"])
    assert events[0] == ConversationOpened(
        conversation_id="talk", axis="memory", turns=[["Tea.", "Yes."], ["Tea. Rice.", "No."], ["Rice."]]
    )
    told = [event for event in events if isinstance(event, StateUpdated)]
    assert [(one.turn, one.new_text, one.gone_text) for one in told] == [
        (0, ["Tea"], []), (1, ["Rice"], []), (2, [], ["Tea"]),
    ]  # fmt: skip
    assert (found.failures(), found.cost(talk, "flat")) == (0, Spent(3, 30, 0.75)), "a turn is one call"
    states = [found.state(talk, "flat", turn) for turn in (-1, 0, 1, 2, None)]
    assert [one.memory_text for one in states if isinstance(one, FlatState)] == [
        "", "Tea.", "Tea. Rice.", "Rice.", "Rice.",
    ]  # fmt: skip
