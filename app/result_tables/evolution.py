"""The evolution: its best deltas beside no processor and the baselines; its judge beside people."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from app.result_tables.layout import figure, interval, probability, result_tables
from app.state.run import RunState
from app.words import method_name

_FIGURES = ("n", "cannot tell", "correct", "95% interval", "tokens", "composite")
_DIFFERENCES = ("correct", "95% interval", "p", "tokens", "95% interval", "composite", "95% interval")
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
            method_name(row.method) + (f": {row.cap}" if row.cap is not None else ""), str(row.n), str(row.cannot_tell),
            figure(row.correctness), interval(row.wilson_low, row.wilson_high), f"{row.mean_tokens:.1f}",
            figure(row.composite),
        )
        for row in compared
    ]  # fmt: skip
    differences = [
        (
            method_name(row.method), figure(row.difference, "+"), interval(row.low, row.high, "+"), probability(row.p),
            figure(row.tokens_difference, "+", 1), interval(row.tokens_low, row.tokens_high, "+", 1),
            figure(row.ahead, "+"), interval(row.ahead_low, row.ahead_high, "+"),
        )
        for row in compared
    ]  # fmt: skip
    if not rows:
        return []
    name = next((row.judge for row in measured), "")
    last = result_tables(
        "Correctness and tokens minus the unchanged model's, composite minus that of the evolved deltas",
        [""],
        _DIFFERENCES,
        differences,
    )
    last[0].caption = _words(state)
    return [
        *result_tables(f"Judge {name}, against people's labels", [""], _JUDGE, judge),
        *result_tables("Deltas, on the test set", [""], _FIGURES, rows),
        *last,
    ]


def _words(state: RunState) -> Text:
    """What the comparison says, and the request for short answers that the table names."""
    drawn, brief = state.evolution.drawn, state.evolution.compared.get("brief_prompt")
    lines = []
    if drawn is not None:
        said = drawn.text
        for name in ("chosen_cap", "length_cap", "brief_prompt", "no_processor"):
            said = said.replace(name, method_name(name))
        lines = [f"{said[0].upper()}{said[1:]}."]
    lines += [f"{method_name('brief_prompt')}: {brief.prompt}"] if brief is not None else []
    return Text("\n".join(lines))
