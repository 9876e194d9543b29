"""What was in a run's folder when a stage of a sweep was finished, kept in `RUN/stages/<stage>.json`.

Another run may take the stage over as long as nobody has changed that."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from engine.files import write_atomic
from engine.regular_file import read_regular

FOLDER = "stages"
"""The one folder of a run that no stage's result is in; nor in any file beside the folders."""


class StageFiles(msgspec.Struct, frozen=True):
    """`files` of this stage and those before it: size in bytes, and time of the last change in nanoseconds; `events`:
    how many were in the run's log."""

    files: dict[str, tuple[int, int]]
    events: int


def read_stage_files(run_dir: Path, stage: str) -> StageFiles | None:
    """None while the stage is not finished, and where the file is none."""
    try:
        return msgspec.json.decode(read_regular(run_dir / stage_file(stage)), type=StageFiles)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def write_stage_files(run_dir: Path, stage: str, events: int) -> None:
    """Keep it for a stage that is finished now."""
    left = StageFiles(result_files(run_dir), events)
    write_atomic(run_dir / stage_file(stage), msgspec.json.encode(left) + b"\n")


def stage_file(stage: str) -> str:
    """Where it is kept, below the run's folder."""
    return f"{FOLDER}/{stage}.json"


def result_files(run_dir: Path) -> dict[str, tuple[int, int]]:
    """The files in the folders of the stages, by their path below the run's: size, and time of the last change."""
    files: dict[str, tuple[int, int]] = {}
    for folder in run_dir.iterdir():
        if folder.name != FOLDER and folder.is_dir():
            for parent, _, names in os.walk(folder):
                for path in (Path(parent, name) for name in names):
                    status = path.stat()
                    files[path.relative_to(run_dir).as_posix()] = (status.st_size, status.st_mtime_ns)
    return files
