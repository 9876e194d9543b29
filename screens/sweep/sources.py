"""The table of a sweep's settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.sweep_text import (
    NONE,
    figure_words,
    gain_words,
    interval_words,
    kl_words,
    setting_words,
    state_words,
)
from app.table.column import Cell, ListColumn, Tone
from engine.sweep.results import SettingResult


@dataclass(frozen=True)
class SettingRow:
    """A setting, its sign (★ the best, ≈ not to be told from it), and the fields that tell settings apart."""

    one: SettingResult
    sign: str
    fields: list[str]


def _gain(row: SettingRow) -> Cell:
    found = row.one.gain
    if found is None:
        return Cell(NONE, "dim")
    verdict = row.one.verdict
    better = (found.difference < 0) if verdict and verdict.lower_is_better else found.difference > 0
    shown = found.low > 0 or found.high < 0
    tone: Tone = "dim" if not shown else "good" if better else "bad"
    return Cell(f"{'≈' if not shown else '▲' if better else '▼'} {gain_words(row.one)}", tone)


def _result(row: SettingRow) -> Cell:
    return Cell(figure_words(row.one, row.one.value), "strong" if row.one.whole else "dim")


def _baseline(row: SettingRow) -> str:
    return figure_words(row.one, row.one.baseline_value)


def _state(row: SettingRow) -> Cell:
    words = state_words(row.one)
    tone: Tone = (
        "good"
        if words == "✓"
        else "accent"
        if words.startswith("▶")
        else "dim"
        if words == "waits"
        else "warn"
    )
    return Cell(words, tone)


COLUMNS: Sequence[ListColumn[SettingRow]] = (
    ListColumn("sign", "", 1, priority=0, value=lambda r: r.sign, show=lambda sign: Cell(sign, "accent"),
               help="★ the best setting, ≈ cannot be told from it"),
    ListColumn("setting", "setting", 22, priority=0, flex=True, value=lambda r: setting_words(r.one.setting, r.fields)),
    ListColumn("state", "state", 9, priority=0, value=lambda r: r, show=_state),
    ListColumn("result", "result", 7, "right", 0, value=lambda r: r, show=_result,
               help="mean over its items, and over its seeds"),
    ListColumn("baseline", "baseline", 8, "right", 3, value=lambda r: r, show=_baseline,
               help="the same items without the method"),
    ListColumn("gain", "difference", 10, "right", 0, value=lambda r: r, show=_gain, help="result − baseline"),
    ListColumn("interval", "95% interval", 17, "right", 1, value=lambda r: interval_words(r.one),
               help="of the difference, paired over the items"),
    ListColumn("kl", "KL/token", 8, "right", 2, value=lambda r: r, show=lambda r: kl_words(r.one),
               help="how far steering changes answers to unrelated questions (eval.side_effects)"),
    ListColumn("tokens", "tokens", 6, "right", 3, value=lambda r: r.one.tokens,
               show=lambda tokens: NONE if tokens is None else f"{tokens:.0f}", help="of an answer, probes included"),
    ListColumn("n", "n", 5, "right", 3, value=lambda r: r.one.n, show=lambda n: str(n) if n else NONE),
)  # fmt: skip
