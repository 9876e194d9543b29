"""A sweep's summary: the table of settings, what it says, and how often each stage was done."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from app.blocks.block import Table as Block
from app.blocks.printed import printed
from app.runs.run_names import setting_words
from app.sweep_text import (
    counts_words,
    figure_words,
    gain_words,
    interval_words,
    kl_words,
    progress_words,
    remarks,
    state_words,
)
from engine.sweep.results import SettingResult, SweepResults

_ROOMY = 100
"""Columns from which all figures fit."""


def summary_lines(results: SweepResults, width: int) -> Iterator[Table | Text]:
    """Everything that is printed at the end, from top to bottom."""
    with_kl = any(one.kl is not None for one in results.settings)
    names = ["result", "difference", "95% interval", *(["KL/token"] if with_kl else [])]
    roomy = width >= _ROOMY
    if roomy:
        names = ["n", "baseline", *names, "tokens"]
    rows = [_row(one, results, roomy, with_kl) for one in results.settings]
    title = f"Settings, each against its baseline on the same items; {progress_words(results)}"
    if rows:
        yield printed(Block(("setting", "state", *names), rows, len(names), title), ["setting"])
    for remark in remarks(results):
        yield Text(f"- {remark}")
    if counts := counts_words(results):
        yield Text(f"- {counts}")


def _row(one: SettingResult, results: SweepResults, roomy: bool, with_kl: bool) -> tuple[str, ...]:
    best = " ★" if one is results.best and len(results.settings) > 1 else ""
    figures = [figure_words(one, one.value), gain_words(one), interval_words(one)]
    if with_kl:
        figures.append(kl_words(one))
    if roomy:
        figures = [str(one.n or "·"), figure_words(one, one.baseline_value), *figures]
        figures.append("·" if one.tokens is None else f"{one.tokens:.0f}")
    return (f"{setting_words(one.setting, results.fields)}{best}", state_words(one), *figures)
