"""The evolution: its best deltas beside no processor and a length cap."""

from __future__ import annotations

from rich.table import Table

from app.batch.tables.layout import figure, interval, result_tables
from app.state.run import RunState

_FIGURES = ("n", "correct", "95% interval", "difference", "tokens", "composite")


def tables(state: RunState) -> list[Table]:
    """The comparison on the test set."""
    rows = [
        (
            f"{row.method} {row.cap}" if row.cap is not None else row.method, str(row.n), figure(row.correctness),
            interval(row.wilson_low, row.wilson_high), figure(row.difference, "+"), f"{row.mean_tokens:.1f}",
            figure(row.composite),
        )
        for row in state.evolution.compared.values()
    ]  # fmt: skip
    return result_tables("Deltas, on the test set", [""], _FIGURES, rows)
