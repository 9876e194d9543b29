"""Tables are sorted and exported by figures and texts, never by the records behind them."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from math import nan
from typing import NamedTuple

import pytest
from rich.segment import Segment
from rich.style import Style
from textual.color import Color

from app.methods.evolution.iterations import iteration_rows
from app.methods.slsm.answers import ANSWERS
from app.shell import SteerApp
from app.state.run import RunState
from app.table.column import Cell, ListColumn
from engine.events import Event
from screens.widgets.tables.rows import ListSource
from tests.synthetic_evolution import evolution_events
from tests.synthetic_pool import pool_events
from tests.synthetic_slsm import slsm_events


class Row(NamedTuple):
    name: str
    figure: float | None


SOURCE: tuple[ListColumn[Row], ...] = (
    ListColumn("name", "name", 5, value=lambda r: r.name),
    ListColumn("record", "record", 5, value=lambda r: r, show=lambda r: Cell(f"is {r.name}")),
)


def test_a_column_of_records_is_exported_and_sorted_as_it_is_drawn() -> None:
    source: ListSource[Row] = ListSource(SOURCE)
    source.show([Row("b", None), Row("a", 2.0), Row("c", None)])
    assert source.values(0) == ["b", "is b"]
    source.sort("record", reverse=True)
    assert [source.values(row)[0] for row in range(3)] == ["c", "b", "a"]


def folded(events: Iterator[Event]) -> RunState:
    state = RunState()
    for offset, event in enumerate(events):
        state.apply(event, offset, 1)
    return state


@pytest.mark.parametrize(
    ("module", "columns", "items"),
    [
        ("app.methods.slsm.answers", "COLUMNS", lambda: list(ANSWERS.rows(folded(slsm_events())))),
        ("app.methods.evolution.iterations", "COLUMNS", lambda: iteration_rows(folded(evolution_events()))),
        ("app.methods.pool.queries", "COLUMNS", lambda: list(folded(pool_events()).pool.queries)),
    ],
)
def test_no_record_stands_in_a_csv(module: str, columns: str, items: object) -> None:
    source = ListSource(getattr(import_module(module), columns))
    rows = items()  # type: ignore[operator]
    source.show(rows)
    assert rows
    for row in range(len(rows)):
        assert all(value is None or isinstance(value, str | int | float) for value in source.values(row))
        assert not any("(" in str(value) and "=" in str(value) for value in source.values(row))
    for column in source.columns:
        source.sort(column.key, reverse=False)


def test_no_control_code_is_drawn() -> None:
    """Whatever widget draws it: the filter of lines is the console's."""
    drawn = [Segment("\x1b]0;owned\x07title\x1b[2J", Style(bold=True))]
    for line_filter in SteerApp().get_line_filters():
        drawn = line_filter.apply(drawn, Color.parse("black"))
    text = "".join(segment.text for segment in drawn)
    assert "title" in text and "\x1b" not in text and "\x07" not in text and drawn[0].style


def test_what_is_missing_comes_before_every_figure() -> None:
    """Upwards; downwards it comes last."""
    source: ListSource[Row] = ListSource((ListColumn("figure", "figure", 5, value=lambda r: r.figure),))
    source.show([Row("a", 2.0), Row("b", None), Row("c", -1.0), Row("d", nan)])
    for reverse, names in ((False, "bdca"), (True, "acbd")):
        source.sort("figure", reverse)
        assert "".join(source.item(row).name for row in range(4)) == names
