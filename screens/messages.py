"""What the screens of a run ask the console for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from textual.message import Message


@dataclass
class StartWanted(Message):
    """A worker is to take this run up again."""

    run_dir: Path


@dataclass
class DetachWanted(Message):
    """The list of runs is wanted; the engine goes on."""


@dataclass
class BranchWanted(Message):
    """A new run is wanted that goes back to the deltas of an iteration of this one."""

    run_dir: Path
    iteration: int


@dataclass
class SystemWanted(Message):
    """The screen of another system of the same run is wanted."""

    name: str
