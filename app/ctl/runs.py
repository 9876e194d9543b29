"""`ctl list` and `ctl show`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from app.ctl.output import DONE, write_form, write_line, write_warning
from app.runs.run_list import RunList, RunRow, read_progress
from app.runs.time_left import time_left_sentence
from app.wording.text import duration
from app.wording.words import figures_words
from engine.run.directory import RunDirectory, inspect
from engine.run.stage_state import RUNNING, STOPPED

_OF_STAGE = ("status", "seconds", "summary", "files")
_NOT_STARTED = "not started"


def list_runs(outputs: Path, states: Sequence[str] | None, as_json: bool) -> int:
    """Every run below `outputs`, the newest first; only those in `states`, if some are given."""
    runs = RunList(outputs)
    rows = [row for row in runs.read() if states is None or row.state in states]
    for row in rows:
        if as_json:
            write_form("run", run_form(row))
        else:
            write_line(
                f"{row.state:<12} {row.fraction:>4.0%}  {row.stage_reached or _NOT_STARTED:<24} {row.path}"
            )
    for error in runs.unreadable.values():
        write_warning(str(error))
    if not rows and not as_json:
        write_line(f"no runs in {outputs}")
    return DONE


def show_run(directory: RunDirectory, as_json: bool) -> int:
    """One run with its stages."""
    row = RunRow(inspect(directory.path), read_progress(directory))
    record = row.status.record
    if as_json:
        stages = [
            {"stage": name, "skipped": bool(s.skipped)} | {field: getattr(s, field) for field in _OF_STAGE}
            for name, s in record.stages.items()
        ]
        more = {"seed": record.seeds.get("run"), "versions": record.versions, "attempts": record.attempts}
        write_form("run", run_form(row) | more | {"config": str(directory.config), "stages": stages})
        return DONE
    write_line(f"{record.name}/{record.run_id}: {row.state}")
    write_line(f"folder: {row.path}")
    if row.status.failure:
        write_line(f"failure: {row.status.failure}")
    if row.working:
        write_line(f"worker: {row.status.pid} on {row.status.host}, at {row.stage_reached or _NOT_STARTED}")
    if row.time_left is not None:
        write_line(time_left_sentence(row.time_left))
    for name, stage in record.stages.items():
        open_ended = (
            stage.status == RUNNING
        )  # at work, or its worker was killed: the record has only earlier attempts
        words = STOPPED if open_ended and not row.working else stage.words
        seconds = stage.seconds + (row.stages[name].elapsed if open_ended else 0.0)
        figures = figures_words(stage.summary)
        write_line(f"  {words:<14} {name:<13} {duration(seconds):>8}  {figures}".rstrip())
    return DONE


def run_form(row: RunRow) -> dict[str, Any]:
    """What `list` says of a run. `done` of `total` items of the `stage` it has reached, none once it is finished;
    `eta` of that stage and `eta_all` of all stages in seconds, null where it is not known."""
    status, progress, left = row.status, row.progress, row.time_left
    record, ended = status.record, row.state == "finished"
    return {
        "path": str(row.path.absolute()), "name": record.name, "run_id": record.run_id, "state": row.state,
        "created": record.created, "fraction": round(row.fraction, 4),
        "stage": None if ended else progress.name or None, "done": None if ended else progress.done,
        "total": None if ended else progress.total, "eta": progress.eta if row.state == "running" else None,
        "eta_all": None if left is None else left.whole, "pid": status.pid, "host": status.host or None,
        "failure": status.failure or None,
    }  # fmt: skip
