"""What the result of a stage rests on, kept in each run of a sweep: `RUN/inputs/<stage>.jsonl` and `.json`.

The lines are the fields that the stage has read, each written down before the stage gets its value, so that no kill can
hide one. At the stage's end follows what was in the run's folder then: another run may take it over if all fields that
were read have the same values there, and those of all stages before it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from threading import Lock

import msgspec

from engine.config.config import Config
from engine.config.recorded import all_values, recorded
from engine.files import append_jsonl, recover_jsonl, write_atomic
from engine.regular_file import read_regular

FOLDER = "inputs"
_NO_RESULT = ("scale", FOLDER)
"""Folders of a run that no stage's result is in; nor in any file beside the folders."""


class StageInputs(msgspec.Struct, frozen=True):
    """`fields` that a finished stage has read, with their values; `files` that were there at its end, those of earlier
    stages as well: size in bytes, and time of the last change; `log`: bytes of the run's log up to then."""

    stage: str
    fields: dict[str, str]
    files: dict[str, tuple[int, int]]
    log: int


class _FieldRead(msgspec.Struct):
    field: str
    value: str


class InputsRecorder:
    """Writes down what one stage of a run reads."""

    def __init__(self, run_dir: Path, stage: str) -> None:
        """Go on from what an earlier attempt at the stage has read."""
        self._run_dir, self._stage = run_dir, stage
        self._lines = _lines_path(run_dir, stage)
        self._lock = Lock()
        self._fields = read_fields(run_dir, stage, cut=True)

    def view(self, config: Config) -> Config:
        """The configuration for the stage. Where its work is done counts as read: a stage is not asked about that."""
        self.tell(all_values(config.scale, "scale."))
        return recorded(config, self.tell)

    def tell(self, fields: Mapping[str, str]) -> None:
        """These are read now."""
        with self._lock:
            new = {name: value for name, value in fields.items() if name not in self._fields}
            if new:
                append_jsonl(self._lines, [{"field": name, "value": value} for name, value in new.items()])
                self._fields |= new

    def finish(self, log: int) -> None:
        """The stage is through; `log`: bytes of the run's log."""
        inputs = StageInputs(self._stage, dict(self._fields), result_files(self._run_dir), log)
        write_inputs(self._run_dir, inputs)


def read_fields(run_dir: Path, stage: str, cut: bool = False) -> dict[str, str]:
    """The fields that the stage has read so far; none of a spoilt file. `cut`: a torn last line off the file,
    where nobody writes it."""
    path = _lines_path(run_dir, stage)
    if cut:
        return {line["field"]: line["value"] for line in recover_jsonl(path)}
    try:
        lines = read_regular(path).split(b"\n")[:-1]
        read = [msgspec.json.decode(line, type=_FieldRead) for line in lines]
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return {line.field: line.value for line in read}


def read_inputs(run_dir: Path, stage: str) -> StageInputs | None:
    """What a stage rested on; None while it is not through, and where the file is none."""
    try:
        return msgspec.json.decode(read_regular(_inputs_path(run_dir, stage)), type=StageInputs)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def write_inputs(run_dir: Path, inputs: StageInputs) -> None:
    """Keep it."""
    write_atomic(_inputs_path(run_dir, inputs.stage), msgspec.json.encode(inputs) + b"\n")


def result_files(run_dir: Path) -> dict[str, tuple[int, int]]:
    """The files in the folders of the stages, by their path below the run's: size in bytes, time of the last change in
    nanoseconds."""
    found: dict[str, tuple[int, int]] = {}
    for folder, folders, names in os.walk(run_dir):
        above = Path(folder)
        if above == run_dir:
            folders[:] = [name for name in folders if name not in _NO_RESULT]
            continue
        for name in names:
            status = (above / name).stat()
            found[(above / name).relative_to(run_dir).as_posix()] = (status.st_size, status.st_mtime_ns)
    return found


def _lines_path(run_dir: Path, stage: str) -> Path:
    return run_dir / FOLDER / f"{stage}.jsonl"


def _inputs_path(run_dir: Path, stage: str) -> Path:
    return run_dir / FOLDER / f"{stage}.json"
