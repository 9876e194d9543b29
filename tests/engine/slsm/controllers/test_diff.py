"""A state moves by diffs alone: what one says is what changes, and what does not fit is refused whole."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.slsm.controllers.diff import (
    Change,
    DiffRefused,
    StateDiff,
    apply_diff,
    diff_between,
    flat_changes,
    gate_facts_by_evidence,
    next_id,
    normalized,
)
from engine.slsm.state import KINDS, Constraint, Fact, FlatState, Item, Plan, SemanticState, empty_state
from tests.engine.slsm.states import states
from tests.exactly import exactly

F1 = Fact(id="F1", text="The dog is Rex", evidence="my dog is Rex")
C1 = Constraint(id="C1", text="Use bullets", evidence="Use bullets!")
STATE = SemanticState(facts=(F1,), constraints=(C1,))


def by_id(state: SemanticState) -> dict[str, list[Item]]:
    """Lists without their order."""
    return {kind: sorted(state.items(kind), key=lambda item: item.id) for kind in KINDS}


@given(states(), states())
def test_a_diff_leads_from_one_state_to_the_other(old: SemanticState, new: SemanticState) -> None:
    found = apply_diff(old, diff_between(old, new))
    assert by_id(found) == by_id(new)
    assert found.plan == new.plan


@given(states(), states())
def test_order_is_kept_where_items_are_only_changed_or_resolved(
    old: SemanticState, new: SemanticState
) -> None:
    known = {item.id for kind in KINDS for item in old.items(kind)}
    lists = {kind: tuple(item for item in new.items(kind) if item.id in known) for kind in KINDS}
    smaller = SemanticState(**lists, plan=new.plan)  # type: ignore[arg-type]
    assert apply_diff(old, diff_between(old, smaller)) == smaller


@given(states())
def test_between_a_state_and_itself_there_is_nothing(state: SemanticState) -> None:
    assert diff_between(state, state) == StateDiff(plan=state.plan)


@given(states(), states())
def test_every_change_says_what_it_is(old: SemanticState, new: SemanticState) -> None:
    for change in diff_between(old, new).changes:
        before, after = old.find(change.item.id), new.find(change.item.id)
        match change.operation:
            case "added":
                assert before is None and change.item == after
            case "changed":
                assert change.before == before != after == change.item
            case "resolved":
                assert change.item == before and after is None


@pytest.mark.parametrize(
    ("changes", "problem"),
    (
        ([Change("added", "facts", F1)], "F1 is added, but there is one already"),
        (
            [Change("added", "constraints", Constraint(id="F1", text="x"))],
            "F1 is added, but there is one already",
        ),
        ([Change("changed", "facts", Fact(id="F9", text="x"))], "F9 is changed, but facts has none such"),
        ([Change("changed", "facts", Fact(id="C1", text="x"))], "C1 is changed, but facts has none such"),
        ([Change("resolved", "unknowns", F1)], "F1 is resolved, but unknowns has none such"),
        ([Change("resolved", "facts", F1), Change("added", "facts", F1)], "F1 is named twice"),
        ([Change("changed", "facts", F1), Change("changed", "facts", F1)], "F1 is named twice"),
        ([Change("added", "facts", Fact(id="F2", text="x"))] * 2, "F2 is named twice"),
    ),
)
def test_contradictory_ids_are_refused_and_the_state_stays(changes: list[Change], problem: str) -> None:
    before = STATE.model_dump_json()
    with pytest.raises(DiffRefused, match=exactly(problem)):
        apply_diff(STATE, StateDiff(tuple(changes)))
    assert STATE.model_dump_json() == before


def test_a_diff_by_hand() -> None:
    """What is added stands last, what is changed in its place, and the plan is the diff's."""
    cat, max_ = Fact(id="F2", text="The cat is Tom"), Fact(id="F1", text="The dog is Max")
    plan = Plan(mode="clarify", reasons=("who?",))
    changes = (
        Change("added", "facts", cat),
        Change("changed", "facts", max_, F1),
        Change("resolved", "constraints", C1),
    )
    assert apply_diff(STATE, StateDiff(changes, plan)) == SemanticState(facts=(max_, cat), plan=plan)


QUOTES = st.sampled_from(("my dog", "My  DOG", "dog is Rex.", "“Rex”", "cat", "my dogs", "", "  ", "x" * 50))
TURN = 'Well, my dog is Rex. He said "Rex"'


@given(st.lists(st.tuples(QUOTES, st.sampled_from(("added", "changed", "status", "resolved"))), max_size=8))
def test_the_gate_drops_exactly_what_does_not_occur(wanted: list[tuple[str, str]]) -> None:
    occurring = {"my dog", "My  DOG", "dog is Rex.", "“Rex”"}
    changes: list[Change] = []
    for number, (quote, what) in enumerate(wanted):
        key = f"C{number}"
        old = Constraint(id=key, text="old", evidence="long ago")
        changes.append(
            {
                "added": Change("added", "constraints", Constraint(id=key, text="new", evidence=quote)),
                "changed": Change(
                    "changed", "constraints", Constraint(id=key, text="new", evidence=quote), old
                ),
                "status": Change(
                    "changed",
                    "constraints",
                    old.model_copy(update={"status": "violated", "evidence": quote}),
                    old,
                ),
                "resolved": Change("resolved", "constraints", old),
            }[what]
        )
    found = gate_facts_by_evidence(StateDiff(tuple(changes), Plan(mode="verify")), TURN, KINDS)
    gone = [
        f"C{number}"
        for number, (quote, what) in enumerate(wanted)
        if what in ("added", "changed") and quote not in occurring
    ]
    assert [item.id for item in found.gated] == gone
    assert [change.item.id for change in found.changes] == [
        change.item.id for change in changes if change.item.id not in gone
    ]
    assert found.plan.mode == "verify"
    for change in found.changes:
        # No quote in a state that was not said: not by way of a status either.
        assert change.item.evidence in occurring | {"long ago"}


def test_a_status_changes_without_taking_the_quote_away() -> None:
    changed = C1.model_copy(update={"status": "violated", "evidence": ""})
    diff = gate_facts_by_evidence(
        StateDiff((Change("changed", "constraints", changed, C1),)), "Something else.", KINDS
    )
    after = apply_diff(STATE, diff).constraints[0]
    assert (after.status, after.evidence) == ("violated", C1.evidence)


def test_a_change_of_nothing_but_an_invented_quote_is_none() -> None:
    changed = C1.model_copy(update={"evidence": "never said"})
    assert not gate_facts_by_evidence(
        StateDiff((Change("changed", "constraints", changed, C1),)), "Hi.", KINDS
    ).changes


@given(st.lists(st.sampled_from(["F1", "F2", "F3", "C1", "F5"])))
def test_a_new_id_is_free_and_of_its_list(taken: list[str]) -> None:
    found = next_id("facts", taken)
    assert found not in taken and found[0] == "F"
    assert all(f"F{number}" in taken for number in range(1, int(found[1:])))
    assert next_id("facts", iter(taken)) == found, "whatever they come from"


def test_sentences_of_a_flat_memory_come_and_go() -> None:
    old = FlatState(memory_text="The dog is Rex. Use bullets.")
    new = FlatState(memory_text="The dog is Max.\nUse bullets.")
    assert flat_changes(old, new) == (["The dog is Max"], ["The dog is Rex"])
    assert flat_changes(old, old) == ([], [])
    longer = FlatState(memory_text=f"{old.memory_text} No emojis!")
    assert flat_changes(old, longer) == (["No emojis!"], [])
    assert flat_changes(FlatState(), old)[0] == ["The dog is Rex", "Use bullets"]


def test_quotation_marks_of_any_kind_are_alike() -> None:
    assert normalized("“Rex”, ‘Rex’ and the dog’s  NAME") == "\"rex\", 'rex' and the dog's name"


@given(st.text())
def test_normalized_is_stable(text: str) -> None:
    assert normalized(normalized(text)) == normalized(f"  {text}\n")


def test_nothing_is_known_at_first() -> None:
    assert empty_state("structured") == SemanticState()
    assert empty_state("flat") == FlatState()
