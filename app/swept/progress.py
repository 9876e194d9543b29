"""How far a sweep at work is: its runs at work, the share that is done, and the time left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from app.runs.run_list import RunRow, read_progress
from engine.run.directory import RunStatus
from engine.run.stage_state import StageState
from engine.sweep.results import SweepResults
from engine.sweep.sweep import Point

_ENDED = ("finished", "failed")
"""States of runs on which the process that works on the sweep does nothing more."""


@dataclass(frozen=True)
class SweepProgress:
    """`at_work`: runs with a worker; `shares`: how much of each run is done, by its id; `share`: of all runs;
    `seconds_left`: None where it is not known."""

    at_work: Sequence[tuple[Point, RunRow]]
    shares: Mapping[str, float]
    share: float
    seconds_left: float | None


def progress_of(results: SweepResults) -> SweepProgress:
    """The progress of a sweep, from the ends of the logs of its runs at work."""
    rows = {run_id: _row(status) for run_id, status in results.runs.items()}
    begun = [(point, row) for point in results.record.all_points if (row := rows.get(point.run_id))]
    at_work = [(point, row) for point, row in begun if row.working]
    shares = {run_id: row.fraction for run_id, row in rows.items()}
    return SweepProgress(
        at_work, shares, sum(shares.values()) / results.total, _seconds_left(results, list(rows.values()))
    )


def _row(status: RunStatus) -> RunRow:
    ended = status.state in _ENDED
    return RunRow(status, StageState("") if ended else read_progress(status.directory))


def _seconds_left(results: SweepResults, rows: Sequence[RunRow]) -> float | None:
    """The runs that are left take as long as the median of the finished ones, else as those at work at their pace."""
    known = [row.seconds for row in rows if row.state == "finished"]
    known = known or [row.seconds / row.fraction for row in rows if row.fraction and row.seconds]
    ended = sum(row.state in _ENDED for row in rows)
    left = results.total - ended
    begun = sum(row.fraction for row in rows if row.state not in _ENDED)
    return median(known) * (left - begun) / min(results.record.jobs, left) if known and left else None
