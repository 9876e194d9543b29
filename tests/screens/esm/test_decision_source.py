"""Decisions as rows: each cell with its tone, worked out from events made by hand."""

from __future__ import annotations

from typing import Any

import pytest

from app.state.run import RunState
from app.table.decision_fields import DECISION_FIELDS
from app.table.filter_parser import parse
from engine import events as ev
from screens.esm.decision_source import COLUMNS, DecisionSource
from tests.two_runs import decided, evaluated


def source_of(*events: ev.Event) -> DecisionSource:
    """Each event begins a hundred bytes after the one before."""
    state = RunState()
    for at, event in enumerate(events):
        state.apply(event, 100 * at, 1)
    return DecisionSource(state.esm)


def cells(source: DecisionSource, row: int = 0) -> dict[str, tuple[str, str]]:
    shown = zip(COLUMNS, source.cells(row), strict=True)
    return {column.key: (cell.text, cell.tone) for column, cell in shown}


COLUMN_KEYS = [column.key for column in COLUMNS]
STEERED: dict[str, Any] = {
    "gate": "chosen", "chosen": "e1", "alpha": 1.25, "delta_logprob": 0.5, "score": 0.75, "committed_tokens": 7,
    "probe_tokens": 12, "memory_size": 3, "top_similarity": 0.5, "best_ahat": 0.25, "null_ahat": 0.125,
}  # fmt: skip


def test_what_was_injected_is_picked_out() -> None:
    """The answer is right, and greedy's is not."""
    source = source_of(
        decided("x", 1, **STEERED), evaluated("greedy", "x", False), evaluated("esm", "x", True)
    )
    assert cells(source) == {
        "method": ("esm", ""), "example": ("x", ""), "m": ("1", ""), "memory": ("3", "dim"), "sim": ("0.500", ""),
        "best": ("0.250", ""), "null": ("0.125", ""), "chosen": ("e1", "accent"), "gate": ("chosen", ""),
        "dlogprob": ("+0.500", ""), "score": ("0.750", ""), "alpha": ("1.250", "strong"), "committed": ("7", ""),
        "probe": ("12", "dim"), "correct": ("✓", "good"), "differs": ("▲", "good"),
    }  # fmt: skip


def test_what_was_left_alone_is_dim() -> None:
    """The answer is wrong, and greedy's is right; where neither is known there is nothing to say."""
    null = {"delta_logprob": -0.5, "score": 0.75, "alpha": 2.0}
    events = decided("x", 1, **null), evaluated("greedy", "x", True), evaluated("esm", "x", False)
    dim = {"chosen": "null", "gate": "null best", "dlogprob": "−0.500", "score": "0.750", "alpha": "·"}
    found = cells(source_of(*events))
    assert {name: found[name] for name in dim} == {name: (text, "dim") for name, text in dim.items()}
    assert (found["correct"], found["differs"]) == (("✗", "bad"), ("▼", "bad"))
    unknown = cells(source_of(decided("x", 1)))
    assert unknown["correct"] == ("·", "dim") and unknown["differs"][0].strip() == ""


def test_names_are_shown_as_the_results_call_them_and_found_by_what_is_shown() -> None:
    """`no_probing` and `null_best` in the log; both ways of writing them are found."""
    source = source_of(decided("a", 1, method="no_probing"), decided("a", 1))
    assert cells(source)["method"][0] == "no probing" and cells(source)["gate"][0] == "null best"
    for text in ('method:"no probing"', "method:no_probing", "method~o_p", "gate:null_best method!=esm"):
        source.filter(parse(text, DECISION_FIELDS))
        assert [source.item(row) for row in range(len(source))] == [0], text


def test_rows_are_found_by_number_place_and_filter() -> None:
    """Also after the filter has hidden some; of the answers that turned, the first one's first row."""
    source = source_of(
        decided("a", 1), decided("b", 1, **STEERED), decided("c", 1, **STEERED), evaluated("greedy", "c", False),
        evaluated("esm", "c", True),
    )  # fmt: skip
    assert [source.offset(row) for row in range(3)] == [0, 100, 200]
    assert [source.row_at(at) for at in (100, 200, 150)] == [1, 2, None]
    assert [source.find(key) for key in (2, "b")] == [2, None] and source.key(1) == 1
    assert source.first_turned("esm") == 2 and source.first_turned("greedy") is None
    assert [source.turned(number) for number in range(3)] == [False, False, True]
    source.filter(parse("alpha>1 b or c", DECISION_FIELDS))
    assert [source.item(row) for row in range(len(source))] == [1, 2]
    assert source.row_at(200) == 1 and source.find(2) == 1 and source.words == ["b", "c"]
    assert [source.offset(row) for row in range(2)] == [100, 200]
    assert source.first_turned("esm") == 1
    values = dict(zip((column.key for column in COLUMNS), source.values(0), strict=True))
    assert (values["alpha"], values["example"], values["m"]) == (1.25, "b", 1)


@pytest.mark.parametrize(
    ("column", "reverse", "order"), [("m", False, [1, 0]), ("m", True, [0, 1]), ("?", True, [0, 1])]
)
def test_the_order_of_decisions(column: str, reverse: bool, order: list[int]) -> None:
    source = source_of(decided("a", 2), decided("b", 1))
    source.sort(column, reverse)
    assert [source.item(row) for row in range(2)] == order


def test_an_earlier_or_another_state_has_its_own_cells() -> None:
    """Its decisions, and how their answers came out."""
    source = source_of(decided("a", 1), decided("b", 1, **STEERED))
    other = source_of(
        decided("c", 1, **STEERED), evaluated("greedy", "c", True), evaluated("esm", "c", False)
    )
    source.show(other.state)
    shown = cells(source)
    assert (shown["example"], shown["m"], shown["chosen"]) == (("c", ""), ("1", ""), ("e1", "accent"))
    assert (shown["correct"], shown["differs"]) == (("✗", "bad"), ("▼", "bad")) and source.turned(0)
    assert source.values(0)[COLUMN_KEYS.index("example")] == "c" and len(source) == 1
