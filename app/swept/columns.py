"""The table of a sweep's settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from app.runs.run_names import setting_words
from app.swept.words import (
    NONE,
    figure_words,
    interval_words,
    state_words,
)
from app.table.column import Cell, ListColumn, Tone
from app.table.difference import difference_cell
from engine.sweep.results import SettingResult, SweepResults


@dataclass(frozen=True)
class SettingRow:
    """A setting, its sign (★ the best, ☆ not distinguishable from it), the fields in which settings differ, and how
    much of its runs is done, while the sweep is at work."""

    result: SettingResult
    sign: str
    fields: list[str]
    share: float | None = None

    @property
    def name(self) -> str:
        """What it tries."""
        return setting_words(self.result.setting, self.fields)


def _gain(row: SettingRow) -> Cell:
    gain, verdict = row.result.gain, row.result.verdict
    if gain is None or verdict is None:
        return Cell(NONE, "dim")
    return difference_cell(
        replace(verdict, difference=gain.difference, low=gain.low, high=gain.high, stale=False)
    )


def _result(row: SettingRow) -> Cell:
    return Cell(figure_words(row.result, row.result.value), "strong" if row.result.whole else "dim")


def _state(row: SettingRow) -> Cell:
    words = state_words(row.result, row.share)
    tones: dict[str, Tone] = {"✓": "good", "▶": "accent", "waits": "dim"}
    return Cell(words, tones.get(words if words.startswith("✓") else words.partition(" ")[0], "warn"))


def setting_rows(results: SweepResults, shares: Mapping[str, float]) -> list[SettingRow]:
    """The rows of a sweep. `shares`: how much of each run that has begun is done, by its id."""
    resolution = results.resolution
    tied = {results.compared[number] for number in resolution.tied} if resolution else set()
    return [
        SettingRow(
            result, "★" if result is results.best else "☆" if number in tied else "", results.fields,
            sum(shares.get(point.run_id, 0.0) for point in result.points) / len(result.points),
        )
        for number, result in enumerate(results.settings)
    ]  # fmt: skip


COLUMNS: Sequence[ListColumn[SettingRow]] = (
    ListColumn("sign", "", 1, value=lambda r: r.sign, show=lambda sign: Cell(sign, "accent"),
               help="★ the best setting, ☆ cannot be told from it"),
    ListColumn("setting", "setting", 22, flex=True, value=lambda r: r.name),
    ListColumn("state", "state", 12, value=lambda r: r, show=_state),
    ListColumn("result", "result", 7, "right", 0, value=lambda r: r, show=_result,
               help="mean over its items, and over its seeds"),
    ListColumn("baseline", "baseline", 8, "right", 3, value=lambda r: figure_words(r.result, r.result.baseline_value),
               help="the same items without the method"),
    ListColumn("gain", "difference", 10, "right", 0, value=lambda r: r, show=_gain,
               help="result − baseline: ▲ better than its baseline, ▼ worse, ≈ no difference shown"),
    ListColumn("interval", "95% interval", 17, "right", 1, value=lambda r: interval_words(r.result),
               help="of the difference, paired over the items; of several seeds, over each item's mean"),
    ListColumn("tokens", "tokens", 6, "right", 3, value=lambda r: r.result.tokens,
               show=lambda tokens: NONE if tokens is None else f"{tokens:.0f}", help="of an answer, probes included"),
    ListColumn("n", "n", 5, "right", 3, value=lambda r: r.result.n, show=lambda n: str(n) if n else NONE),
)  # fmt: skip
