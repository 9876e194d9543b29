"""What entries are called in a state: by what the log says, and in logs that do not say it, by their texts."""

from __future__ import annotations

from typing import Any

import pytest

from app.report.item_words import item_words
from app.state.run import RunState
from app.table.decision_fields import DECISION_FIELDS
from app.table.decision_rows import DecisionRows
from app.table.filter import predicate, quoted
from app.table.filter_parser import parse
from app.wording.gate_text import gate_sentence
from engine import events as ev

WEIGHED: dict[str, Any] = {"kind": "wrong", "similarity": 0.9, "quality": 1.0, "ahat": 0.9}
LONG = "arithmetic-0123456789abcdef_m1_l2"


def pick(order: int, tool_name: str, kind: str = "wrong", name: str = "") -> ev.EntryPicked:
    return ev.EntryPicked(
        order=order, lib_id=f"lib_{order}", tool_name=tool_name, kind=kind, example="e", control_point_m=1, layer=2,
        quality=0.5, gain=1.0, objective=1.0, max_similarity=0.5, name=name,
    )  # fmt: skip


def pair(key: str, wrong: str, right: str, m: int = 1, source: str = "rollout") -> ev.PairMined:
    return ev.PairMined(
        pair=key, example="e", control_point_m=m, layer=2, quality=0.5, positives=1, negatives=1, delta_norm=1.0,
        positive_text=right, negative_text=wrong, source=source,
    )  # fmt: skip


def decision(m: int, chosen: str | None, *candidates: ev.Candidate) -> ev.DecisionTaken:
    return ev.DecisionTaken(
        method="esm", example="e", m=m, gate="chosen", chosen=chosen, candidates=list(candidates)
    )


def folded(*events: ev.Event) -> RunState:
    state = RunState()
    for at, event in enumerate(events):
        state.apply(event, at * 10, 10)
    return state


OLDER = (
    pair("p1", "Backward: 8", "Forward: 8"), pair("p2", "Backward: 9", "Forward: 9"), pair("p3", "same", "same", 3),
    pair("p4", "Quick: 8", "1", 2, "gold"),
    pick(0, "p1_wrong"), pick(1, "p2_wrong"), pick(2, "p2_right", "right"), pick(3, "p3_wrong"),
    pick(4, "p4_wrong"), pick(5, f"{LONG}_wrong"),
)  # fmt: skip
"""A log of before entries had names."""


def test_a_log_that_says_no_names_is_read_with_those_of_its_texts() -> None:
    esm = folded(*OLDER).esm
    assert [row.name for row in esm.picks] == [
        "Backward → Forward, step 1", "Backward → Forward, step 1 #2", "keep Forward, step 1", "p3_wrong",
        "Quick → solution, step 2", "0123456…, step 1",
    ]  # fmt: skip
    assert [row.entry for row in esm.picks][:2] == ["p1_wrong", "p2_wrong"]
    assert [row.words for row in esm.pairs] == ["Backward → Forward"] * 2 + ["", "Quick → solution"]
    assert [row.entry_name() for row in esm.pairs][1:3] == ["Backward → Forward, step 1", "p3_wrong"]


def test_a_name_in_the_log_is_the_name() -> None:
    esm = folded(pair("p1", "a", "b"), pick(0, "p1_wrong", name="given #7")).esm
    assert esm.picks[0].name == esm.entry_name("p1_wrong") == "given #7"
    assert esm.entry_name("nothing is known of it") == "nothing is known of it"
    assert esm.entry_name(f"{LONG}_right") == "keep 0123456…, step 1"


def test_a_stage_that_is_begun_again_names_anew() -> None:
    """A state of before keeps its names."""
    state = folded(*OLDER)
    before = state.share()
    state.apply(ev.StageBegunAgain(stage="select", kept=""), 1000, 1)
    state.apply(pick(0, "p2_wrong"), 1010, 1)
    assert state.esm.entry_name("p2_wrong") == "Backward → Forward, step 1"
    assert before.esm.entry_name("p2_wrong") == "Backward → Forward, step 1 #2"


def test_copies_that_are_folded_on_give_the_same_names() -> None:
    early = folded(*OLDER[:5])
    late = early.share()
    for state in (late, early):
        for at, event in enumerate(OLDER[5:], 5):
            state.apply(event, at * 10, 10)
    assert list(early.esm.picks) == list(late.esm.picks) == list(folded(*OLDER).esm.picks)


def test_decisions_name_what_no_stage_of_the_run_picked() -> None:
    """A served run's log has decisions alone."""
    one, two = ev.Candidate(entry="a", name="A → B, step 1", **WEIGHED), ev.Candidate(entry="b", **WEIGHED)
    state = folded(pick(0, "b", name="C → D, step 2"), decision(2, "a", one, two))
    assert (state.esm.entry_name("a"), state.esm.entry_name("b")) == ("A → B, step 1", "C → D, step 2")
    named = state.esm.named(decision(2, "b", one, two))
    assert [c.name for c in named.candidates] == ["A → B, step 1", "C → D, step 2"] and named.chosen == "b"
    assert gate_sentence(named).startswith("C → D, step 2 scored highest")


def test_the_first_name_that_is_said_of_an_entry_stays_its_name() -> None:
    """A decision that does not say it takes nothing away, nor does one that says another."""
    silent, first, other = (ev.Candidate(entry="a", name=name, **WEIGHED) for name in ("", "A → B", "C → D"))
    for said in ((silent, first), (silent, first, other), (first, silent), (first, other)):
        state = folded(*(decision(at, "a", candidate) for at, candidate in enumerate(said, 1)))
        assert state.esm.entry_name("a") == "A → B"


def test_the_best_entry_of_a_rule_is_named() -> None:
    best = ev.Candidate(entry="a", name="A → B, step 1", score=0.5, **WEIGHED)
    tie = ev.DecisionTaken(method="esm", example="e", m=2, gate="tie", candidates=[best])
    assert (
        gate_sentence(tie)
        == "Null and the best entry (A → B, step 1, Score 0.500) scored the same: a tie goes to null."
    )
    names = {"b": "C → D", "c": "E → F"}
    for first, second, best_of in ((-0.1, None, "b"), (0.05, 0.0, "b"), (-0.1, 0.0, "c")):
        both = [
            ev.Candidate(entry=entry, name=names[entry], score=score, **WEIGHED)
            for entry, score in (("b", first), ("c", second))
        ]
        lost = ev.DecisionTaken(method="esm", example="e", m=2, gate="null_best", candidates=both)
        assert f"the best entry ({names[best_of]}, Score" in gate_sentence(lost), (
            "what was not scored is none"
        )
    assert item_words(pick(0, "a", name="A → B, step 1")) == "library entry A → B, step 1"
    assert item_words(pick(0, f"{LONG}_wrong")) == "library entry 0123456…, step 1"


@pytest.mark.parametrize(
    ("word", "rows"),
    [
        ("test-a", [0, 1]), ("apples", [0, 1]), ("minus", [1]), ("null", [0]), ("nobody", []), ("esm", [0, 1]),
        ("w-7", [1]), ("rule-x", [0]),
    ],
)  # fmt: skip
def test_words_are_found_in_names_ids_and_questions_whatever_their_capitals(
    word: str, rows: list[int]
) -> None:
    taken = [
        ev.DecisionTaken(method="ESM", example="Test-A", m=m, gate=gate, chosen=chosen)
        for m, gate, chosen in ((1, "Rule-X", None), (2, "chosen", "W-7"))
    ]
    asked = ev.QuestionAsked(example="Test-A", question="How many Apples?")
    esm = folded(pick(0, "W-7", name="Plus → Minus"), asked, *taken).esm
    mentions = DecisionRows(esm).mentions(word)
    assert [row for row in range(2) if mentions(row)] == rows


NAME = 'C "q" → D\\, step 2'
ROWS = folded(pick(0, "id-7", name=NAME), decision(1, None), decision(2, "id-7"), decision(3, "mean_vector"))


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        (f"chosen:{quoted(NAME)}", [1]), ('chosen:"c *"', [1]), ("chosen:null", [0]), ("chosen:mean_vector", [2]),
        ("chosen:id-7", []), ("entry:id-7", [1]), ("entry:null", [0]), ("id-7", [1]), ("step", [1]), ('"null"', [0]),
    ],
)  # fmt: skip
def test_decisions_are_filtered_by_name_and_by_id(text: str, rows: list[int]) -> None:
    expression = parse(text, DECISION_FIELDS)
    assert expression is not None
    test = predicate(expression, DecisionRows(ROWS.esm))
    assert [row for row in range(3) if test(row)] == rows


def test_the_columns_of_a_decision_have_the_name_and_the_id() -> None:
    table = DecisionRows(ROWS.esm)
    name, entry = table.getter("chosen"), table.getter("entry")
    assert [(name(row), entry(row)) for row in range(3)] == [
        ("null", "null"),
        (NAME, "id-7"),
        ("mean_vector", "mean_vector"),
    ]
    assert DECISION_FIELDS["entry"].column is None
