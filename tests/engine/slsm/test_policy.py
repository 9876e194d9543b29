"""When a note is injected, what it says, and how much of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.config.slsm import Mode, SLSMSection
from engine.slsm.note import HEADER, flat_note, flat_statements, flat_text, structured_note, with_note
from engine.slsm.policy import MODES, REMINDER, decide, note_of
from engine.slsm.state import Constraint, Edit, Fact, FlatState, Plan, PlanMode, SemanticState
from tests.engine.slsm.states import states

PLANS: tuple[PlanMode, ...] = ("proceed", "verify", "clarify")
FULL = SemanticState(
    constraints=(
        Constraint(id="C1", text="one", status="violated"),
        Constraint(id="C2", text="two", status="satisfied"),
        Constraint(id="C3", text="three"),
    ),
    facts=(Fact(id="F1", text="four"), Fact(id="F2", text="five")),
    edits=(Edit(id="E1", text="six"),),
)


def test_the_configuration_knows_every_mode() -> None:
    assert all(SLSMSection(compare=[mode]).compare == [mode] for mode in MODES)


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("note", ("", "a note"))
@pytest.mark.parametrize("risk", ((), ("verify", "clarify"), ("verify",), ("proceed",)))
def test_the_four_flows_of_the_spec(plan: PlanMode, note: str, risk: tuple[PlanMode, ...]) -> None:
    state = SemanticState(plan=Plan(mode=plan, reasons=("why",)))
    injected = {mode: decide(mode, state, note, risk).inject for mode in MODES}
    assert injected == {
        "baseline": False,
        "reminder": True,
        "never": False,
        "on_risk": bool(note) and plan in risk,
        "always": bool(note),
        "on_detection": False,
        "remind_on_detection": False,
    }


def test_a_decision_says_why() -> None:
    state = SemanticState(plan=Plan(mode="verify", reasons=("a", "b")))
    assert decide("on_risk", state, "x", ("verify",)).reason == "the plan is to verify: a; b"
    assert decide("on_risk", state, "x", ("clarify", "proceed")).reason == (
        "the plan is to verify, which is no risk (clarify, proceed are)"
    )
    for mode in ("always", "on_risk"):
        assert decide(mode, state, "", ("verify",)).reason == "the memory has nothing for a note"


@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        ("baseline", "no controller"),
        ("reminder", "the same note in every conversation"),
        ("never", "the controller only watches"),
        ("on_detection", "the first answer comes without a note"),
        ("remind_on_detection", "the first answer comes without a note"),
        ("always", "always"),
        ("on_risk", "the plan is to clarify"),
    ],
)
def test_every_mode_says_why(mode: Mode, reason: str) -> None:
    assert decide(mode, SemanticState(plan=Plan(mode="clarify")), "a note", ("clarify",)).reason == reason


def test_the_reminder_is_always_the_same() -> None:
    assert REMINDER == (
        "Remember what I have told you earlier in this conversation, and keep to every instruction that I gave."
    )


def test_the_note_is_the_specs() -> None:
    state = SemanticState(
        constraints=(Constraint(id="C1", text="不要用emoji", status="satisfied"),),
        facts=(Fact(id="F1", text="用户喜欢简洁"),),
    )
    assert note_of(state, 6) == (
        "[SLSM MEMORY NOTE]\nConstraints:\n- [satisfied] 不要用emoji\nUser facts/preferences:\n- 用户喜欢简洁"
    )
    assert structured_note([("active", "a")], ["b", "c"], ["d"]) == (
        "[SLSM MEMORY NOTE]\nConstraints:\n- [active] a\nUser facts/preferences:\n- b\n- c\nLatest versions:\n- d"
    )
    flat = FlatState(memory_text="用户喜欢简洁风格，不要emoji，之前要求过修改标题...")
    assert note_of(flat, 1) == "[SLSM MEMORY NOTE]\n用户喜欢简洁风格，不要emoji，之前要求过修改标题..."
    assert note_of(SemanticState(), 6) == note_of(FlatState(memory_text=" \n"), 6) == ""


@pytest.mark.parametrize(
    ("most", "kept"),
    (
        (1, ["- [violated] one"]),
        (2, ["- [violated] one", "- [active] three"]),
        (3, ["- [violated] one", "- [satisfied] two", "- [active] three"]),
        (4, ["- [violated] one", "- [satisfied] two", "- [active] three", "- six"]),
        (5, ["- [violated] one", "- [satisfied] two", "- [active] three", "- five", "- six"]),
        (6, ["- [violated] one", "- [satisfied] two", "- [active] three", "- four", "- five", "- six"]),
    ),
)
def test_what_is_broken_comes_first_and_what_is_new(most: int, kept: list[str]) -> None:
    assert [line for line in note_of(FULL, most).splitlines() if line.startswith("- ")] == kept


@given(states(), st.integers(1, 9))
def test_no_note_is_longer_than_allowed(state: SemanticState, most: int) -> None:
    lines = note_of(state, most).splitlines()
    items = len(state.constraints) + len(state.facts) + len(state.edits)
    assert sum(line.startswith("- ") for line in lines) == min(most, items)
    assert (lines[:1] == [HEADER]) == (items > 0)


def test_a_note_stands_behind_the_users_message() -> None:
    assert with_note("Hi?", flat_note("Be brief.")) == "Hi?\n\n[SLSM MEMORY NOTE]\nBe brief."
    assert with_note("Hi?", "") == "Hi?"
    assert structured_note([]) == ""


def test_statements_stand_behind_one_another_or_in_lines_of_their_own() -> None:
    text = "Be brief. Rex is a dog?\nVersion 2.5 is out\n\n  - no lists."
    assert flat_statements(text) == ["Be brief", "Rex is a dog?", "Version 2.5 is out", "- no lists"]


def test_a_flat_memory_ends_each_statement_with_one_full_stop() -> None:
    assert flat_text(["Be brief.", "Rex is a dog"]) == "Be brief. Rex is a dog."


@given(st.lists(st.text("abc de", min_size=1).map(str.strip).filter(bool), max_size=5))
def test_a_flat_memory_is_its_statements(statements: list[str]) -> None:
    assert flat_statements(flat_text(statements)) == statements
