"""SLSM: the modes of giving memory notes."""

from __future__ import annotations

from rich.table import Table

from app.result_tables.layout import figure, interval, result_tables
from app.state.run import RunState

_FIGURES = (
    "n",
    "score",
    "difference",
    "95% interval",
    "notes",
    "fixed",
    "wasted",
    "broke",
    "cut",
    "no answer",
)


def tables(state: RunState) -> list[Table]:
    """Scores of the modes, and what their notes did."""
    rows = [
        (
            row.mode, row.memory_mode, str(row.n), figure(row.score) if row.judged else "", figure(row.difference, "+"),
            interval(row.difference_low, row.difference_high, "+"),
            *map(str, (row.injections, row.fixed, row.wasted, row.broke, row.cut, row.unanswered)),
        )
        for row in state.slsm.modes.values()
    ]  # fmt: skip
    return result_tables("Memory notes, against baseline", ["mode", "memory"], _FIGURES, rows)
