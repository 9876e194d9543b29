"""The columns of the list of runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from app.blocks.bars import plain_bar
from app.runs.run_list import RunRow
from app.runs.run_names import started
from app.table.column import Cell, Column, Tone
from app.table.difference import difference_cell
from app.table.filter import Value
from app.wording.figures import of_unit
from app.wording.text import duration
from app.wording.verdict_text import verdict_sign
from screens.runs.fields import VALUES, changes_text, gain, headline, methods_text, reached
from screens.widgets.charts.spark import spark

SIGNS: dict[str, tuple[str, Tone]] = {
    "running": ("▶ running", "good"),
    "paused": ("‖ paused", "warn"),
    "hung": ("? no answer", "bad"),
    "interrupted": ("✗ interrupted", "warn"),
    "stopped": ("■ stopped", ""),
    "failed": ("✗ failed", "bad"),
    "finished": ("✓ finished", "good"),
    "prepared": ("○ prepared", "dim"),
}
NONE = Cell("·", "dim")
_CURVE = 7
"""Characters across."""


def _state(row: RunRow) -> Cell:
    text, tone = SIGNS.get(row.state, (row.state, ""))
    return Cell(f"{text} {int(row.fraction * 100)}%" if row.state == "running" else text, tone)


def _rank(row: RunRow) -> int:
    """Of its state: runs at work come first."""
    return list(SIGNS).index(row.state) if row.state in SIGNS else len(SIGNS)


def _result(row: RunRow) -> Cell:
    verdict = headline(row)
    if verdict is None:
        return NONE
    return Cell(of_unit(verdict.value, verdict.unit), "dim" if verdict.stale else "strong")


def _difference(row: RunRow) -> Cell:
    verdict = headline(row)
    return NONE if verdict is None else difference_cell(verdict)


def _curve(row: RunRow) -> Cell:
    """The result over the work. The baseline is within its scale: a good run does not look bad for its last items."""
    verdict = headline(row)
    if verdict is None or not verdict.curve:
        return NONE
    return Cell(spark(verdict.curve, _CURVE, 1, (verdict.baseline_value,))[0])


def _methods(row: RunRow) -> Cell:
    """Each method, with a sign once it has a result: `ESM ▲ Evolution`."""
    words = [
        f"{title} {verdict_sign(verdict)}" if verdict else title for title, verdict in reached(row).items()
    ]
    return Cell(" ".join(words)) if words else NONE


def _changes(row: RunRow) -> Cell:
    return Cell(changes_text(row)) if row.record.changes else NONE


def _stage(row: RunRow) -> Cell:
    return Cell(row.stage_reached, "" if row.working else "dim") if row.stage_reached else NONE


def _progress(row: RunRow) -> Cell:
    tone: Tone = "accent" if row.working else "dim"
    return Cell(f"{plain_bar(row.fraction, 8)} {int(row.fraction * 100):>3}%", tone)


def _eta(row: RunRow) -> Cell:
    left = row.time_left
    if left is None:
        return NONE
    return Cell("?", "dim") if left.whole is None else Cell(duration(left.whole), "strong")


def _cost(row: RunRow) -> Cell:
    return NONE if row.cost is None else Cell(f"{row.cost:,.2f}")


@dataclass(frozen=True)
class RunColumn(Column):
    """`show`: what stands in it of a run; `order`: what runs are ordered by, if they can be."""

    show: Callable[[RunRow], str | Cell] = lambda row: ""
    order: Callable[[RunRow], Value] | None = None


COLUMNS: Sequence[RunColumn] = (
    RunColumn("state", "status", 13, show=_state, order=_rank),
    RunColumn("name", "name", 13, show=lambda r: r.title, order=lambda r: r.title.lower()),
    RunColumn("result", "result", 8, "right", help="of its first method", show=_result, order=VALUES["result"]),
    RunColumn("difference", "change", 9, "right", 1, help="against the baseline", show=_difference, order=gain),
    RunColumn("curve", "curve", _CURVE, priority=2, show=_curve,
              help="of the result over the items or steps; its scale holds the baseline"),
    RunColumn("methods", "methods", 24, priority=3, flex=True, show=_methods, order=methods_text,
              help="▲ better than its baseline, ▼ worse, ≈ no difference shown"),
    RunColumn("changes", "changed fields", 16, priority=4, flex=True, show=_changes, order=VALUES["change"]),
    RunColumn("seconds", "time", 7, "right", 2, show=lambda r: duration(r.seconds), order=VALUES["seconds"],
              help="of its stages; without loading, and what a killed worker did"),
    RunColumn("cost", "cost", 7, "right", 5, help="in the prices' unit", show=_cost, order=VALUES["cost"]),
    RunColumn("stage", "stage", 14, priority=8, show=_stage, order=lambda r: r.progress.name),
    RunColumn("progress", "progress", 13, priority=9, show=_progress, order=lambda r: r.fraction),
    RunColumn("eta", "left", 7, "right", 7, help="until all stages are done; ?: not known yet", show=_eta,
              order=lambda r: None if r.time_left is None else r.time_left.whole),
    RunColumn("started", "started", 12, "right", 6, show=lambda r: started(r.record.created),
              order=lambda r: r.record.created),
    RunColumn("id", "id", 20, priority=1, name=True, show=lambda r: r.record.run_id, order=VALUES["id"]),
)  # fmt: skip
"""What matters least goes first where room is short; state, name and result never do."""
