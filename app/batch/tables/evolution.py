"""The evolution: its best deltas beside no processor and a length cap; its judge beside people."""

from __future__ import annotations

from rich.table import Table

from app.batch.tables.layout import figure, interval, result_tables
from app.state.run import RunState

_FIGURES = ("n", "cannot tell", "correct", "95% interval", "difference", "tokens", "composite")
_JUDGE = ("answers", "judged", "agreement", "kappa", "95% interval", "precision", "recall")


def tables(state: RunState) -> list[Table]:
    """The judge against people's labels, and the comparison on the test set."""
    measured, compared = state.evolution.judge.values(), state.evolution.compared.values()
    judge = [
        (
            row.question_type or "all questions", str(row.answers), f"{row.judged / row.answers:.0%}",
            figure(row.agreement), figure(row.kappa), interval(row.kappa_low, row.kappa_high), figure(row.precision),
            figure(row.recall),
        )
        for row in measured
    ]  # fmt: skip
    rows = [
        (
            f"{row.method} {row.cap}" if row.cap is not None else row.method, str(row.n), str(row.cannot_tell),
            figure(row.correctness), interval(row.wilson_low, row.wilson_high), figure(row.difference, "+"),
            f"{row.mean_tokens:.1f}", figure(row.composite),
        )
        for row in compared
    ]  # fmt: skip
    if not rows:
        return []
    name = next((row.judge for row in measured), "")
    return [
        *result_tables(f"Judge {name}, against people's labels", [""], _JUDGE, judge),
        *result_tables("Deltas, on the test set", [""], _FIGURES, rows),
    ]
