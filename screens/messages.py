"""Messages of a run's screens to the console."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from textual.message import Message

from app.methods.place import Place


@dataclass
class ResumeRequested(Message):
    """Start a worker again on this run."""

    run_dir: Path


@dataclass
class SystemRequested(Message):
    """Show the screen of a method of the same run, or its overview; `place`: what to open there. `followed`: nobody
    asked for it, the work is there."""

    name: str
    place: Place | None = None
    followed: bool = False


@dataclass
class CompareRequested(Message):
    """Compare two runs."""

    runs: tuple[Path, Path]


@dataclass
class SweepRequested(Message):
    """Show the sweep in a folder."""

    folder: Path


@dataclass
class RunRequested(Message):
    """Open a run on the screen of a method, at a place if there is one."""

    run_dir: Path
    system: str
    place: Place | None = None


@dataclass
class EventRequested(Message):
    """Open a run at the item of an event, by its number in the log; None: its overview."""

    run_dir: Path
    seq: int | None = None


@dataclass
class ErrorUnforeseen(Message):
    """Show an error of a screen's worker."""

    error: Exception
