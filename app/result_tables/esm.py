"""ESM: every finished method, against greedy."""

from __future__ import annotations

from rich.table import Table

from app.figures import fixed, interval, probability, signed
from app.result_tables.layout import result_tables
from app.state.run import RunState
from app.words import method_name, method_notes

_FIGURES = ("n", "accuracy", "difference", "95% interval", "p", "tokens", "probe tokens")


def tables(state: RunState) -> list[Table]:
    """Accuracy and tokens of the evaluated methods."""
    rows = [
        (
            method_name(row.method), str(row.n), fixed(row.accuracy), signed(row.difference),
            interval(row.low, row.high), probability(row.p), f"{row.mean_tokens:.1f}",
            f"{row.mean_probe_tokens:.1f}",
        )
        for row in state.esm.final.values()
    ]  # fmt: skip
    notes = method_notes(row.method for row in state.esm.final.values())
    return result_tables("Methods, against greedy", ["method"], _FIGURES, rows, notes=notes)
