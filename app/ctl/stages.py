"""`ctl stage`: begins a stage of a run again, skips it, makes it the last one, or stops it."""

from __future__ import annotations

from typing import Literal

from app.ctl.orders import send_and_report
from app.ctl.output import DONE, write_form, write_line
from app.runs.client import choose_stage
from app.runs.run_list import stage_states
from app.wording.stage_words import change_words, kept_words
from app.wording.text import resume_command
from engine.errors import RunError
from engine.run.directory import RunDirectory, inspect


def stage(
    directory: RunDirectory,
    choice: Literal["again", "skip", "last", "stop"],
    name: str,
    undo: bool,
    as_json: bool,
) -> int:
    """Do it, and say what it changes. Raises RunError where it cannot be done."""
    if choice == "stop":
        return _stop(directory, name, undo, as_json)
    before = stage_states(inspect(directory.path))
    change = choose_stage(directory, choice, name, undo)
    if as_json:
        fields = {"choice": choice, "stage": name, "undo": undo, "stages": list(change.stages)}
        write_form("stages", {"path": str(directory.path.absolute()), **fields})
        return DONE
    write_line(change_words(change, before))
    if choice == "again":
        write_line(kept_words(change, before))
    status = inspect(directory.path)
    if not status.alive and status.state != "finished":
        write_line(f"to go on: {resume_command(directory.path)}")
    return DONE


def _stop(directory: RunDirectory, name: str, undo: bool, as_json: bool) -> int:
    status = inspect(directory.path)
    stage = status.record.stages.get(name)
    if undo:
        hint = f"resume the run: {resume_command(directory.path)}"
        raise RunError(what="a stop is not taken back", where="--undo", hint=hint)
    if status.alive and (stage is None or stage.status != "running"):
        hint = "`steer-tui ctl show` lists the stages"
        raise RunError(what=f"`{name}` is not at work", where=str(directory.path), hint=hint)
    return send_and_report(directory, "stop", as_json)
