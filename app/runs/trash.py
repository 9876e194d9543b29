"""Runs are not deleted: they are moved to `.trash` inside the outputs folder, and can be brought back."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from engine.errors import RunError, disk_errors
from engine.run.directory import inspect

FOLDER = ".trash"


@dataclass(frozen=True)
class Trashed:
    """A run that was moved: where it was, where it is."""

    was: Path
    now: Path


def move_to_trash(run: Path) -> Trashed:
    """Move a run's folder to the trash. Raises RunError where a worker is at work on it, the trash has a run of this id
    or is a link, DiskError where it cannot be moved."""
    status = inspect(run)
    if status.alive:
        raise RunError(
            what=f"worker {status.pid} on {status.host} is at work on this run",
            where=str(run),
            hint="stop it first",
        )
    moved = Trashed(run, run.parent.parent / FOLDER / run.parent.name / run.name)
    for folder in (moved.now.parent.parent, moved.now.parent):
        if folder.is_symlink():
            what, hint = "the trash is a link: what is moved there leaves this folder", "remove the link"
            raise RunError(what=what, where=str(folder), hint=hint)
    _move(moved.was, moved.now)
    return moved


def restore(moved: Trashed) -> None:
    """Move a run back to where it was. Raises RunError where something stands there now."""
    _move(moved.now, moved.was)


def _move(source: Path, target: Path) -> None:
    if os.path.lexists(target):
        hint = "rename or move away what stands there, then try again"
        raise RunError(what="there is already something of this name", where=str(target), hint=hint)
    with disk_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        source.rename(target)
