"""ESM: every method that is through, against greedy."""

from __future__ import annotations

from rich.table import Table

from app.batch.tables.layout import difference, differences, probability, result_tables, share
from app.state.run import RunState

_FIGURES = ("n", "accuracy", "difference", "95% interval", "p", "tokens", "probe tokens")


def tables(state: RunState) -> list[Table]:
    """Accuracy and tokens of the evaluated methods."""
    rows = [
        (
            row.method, str(row.n), share(row.accuracy), difference(row.difference), differences(row.low, row.high),
            probability(row.p), f"{row.mean_tokens:.1f}", f"{row.mean_probe_tokens:.1f}",
        )
        for row in state.esm.final.values()
    ]  # fmt: skip
    return result_tables("Methods, against greedy", ["method"], _FIGURES, rows)
