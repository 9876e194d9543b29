"""A sweep: a folder beside its runs, with `sweep.json` (what is swept, and which run tries what) and `config.yaml`
(what all runs have in common). Whether a run has begun, and what it reached, is in the run itself.

Light on purpose (standard library and msgspec): the console reads it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from engine.errors import RunError, SteerError
from engine.files import write_atomic
from engine.regular_file import LARGEST_RECORD, read_regular
from engine.run.directory import RunDirectory, RunStatus, inspect
from engine.run.lock import LockInfo, read_lock

VERSION = 1
PREFIX = "sweep-"
SEED = "run.seed"
"""Several seeds make no further settings: a setting's figures are over all of them."""


class Axis(msgspec.Struct, frozen=True):
    """A field and the values that it takes, in order."""

    field: str
    values: list[Any]


class Point(msgspec.Struct, frozen=True):
    """A run of a sweep: its number, its id, and the values that it tries."""

    number: int
    run_id: str
    setting: dict[str, Any]


class SweepRecord(msgspec.Struct, kw_only=True):
    """`sweep.json`. `status`: prepared, running, finished, stopped, failed. `choose_on`: the split that ESM's settings
    are compared on, "" for the configuration's own; `report`: the chosen setting's run on that one, once it is chosen.
    `jobs`: runs at a time."""

    version: int = VERSION
    name: str
    created: float
    status: str = "prepared"
    specs: list[str]
    axes: list[Axis]
    jobs: int = 1
    choose_on: str = ""
    changes: dict[str, Any] = {}
    points: list[Point]
    report: Point | None = None

    @property
    def all_points(self) -> list[Point]:
        """The reported one last."""
        return [*self.points, *([self.report] if self.report else [])]


@dataclass(frozen=True)
class SweepFolder:
    """Where things are: `outputs/<name>/sweep-<id>/`."""

    path: Path

    @property
    def state(self) -> Path:
        return self.path / "sweep.json"

    @property
    def config(self) -> Path:
        return self.path / "config.yaml"

    @property
    def lock(self) -> Path:
        return self.path / "worker.lock"

    @property
    def log(self) -> Path:
        return self.path / "worker.log"

    def run(self, point: Point) -> RunDirectory:
        """The folder of one of its runs."""
        return RunDirectory(self.path.parent / point.run_id)

    def status(self, point: Point) -> RunStatus | None:
        """The state of one of its runs; None while it has no folder."""
        try:
            return inspect(self.run(point).path)
        except SteerError:
            return None

    def read(self) -> SweepRecord:
        """The state. Raises RunError if this is no sweep, or one of a newer program."""
        try:
            record = msgspec.json.decode(read_regular(self.state, LARGEST_RECORD), type=SweepRecord)
        except OSError as error:
            what = f"this is not a sweep: {error.strerror}"
            hint = "name a sweep's folder, `<outputs>/<name>/sweep-<id>`"
            raise RunError(what=what, where=str(self.state), hint=hint) from error
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            what, hint = (
                f"this is not the state of a sweep: {error}",
                "restore the file, or start a new sweep",
            )
            raise RunError(what=what, where=str(self.state), hint=hint) from error
        strange = next(
            (point.run_id for point in record.all_points if not is_folder_name(point.run_id)), None
        )
        if strange is not None:
            raise RunError(
                what=f"{strange[:80]!a} is not a run of this sweep: runs stand beside it", where=str(self.state),
                hint="restore the file, or start a new sweep",
            )  # fmt: skip
        if record.version > VERSION:
            what = f"a sweep of version {record.version}, this program knows {VERSION}"
            raise RunError(what=what, where=str(self.state), hint="update steer-tui")
        return record

    def write(self, record: SweepRecord) -> None:
        """Replace the state, atomically."""
        write_atomic(self.state, msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n")

    def queue(self) -> LockInfo | None:
        """The process that starts its runs, if one is alive."""
        lock = read_lock(self.lock)
        return lock if lock is not None and lock.alive else None


def is_folder_name(text: str) -> bool:
    """Whether it names a folder in the folder where it is looked for, and nothing else."""
    return text not in ("", ".", "..") and "/" not in text and "\0" not in text and len(text) < 200


def find_sweep(text: str, outputs: Path) -> SweepFolder:
    """The sweep meant by its folder, the folder's name, or the name of its experiment (its newest sweep). Raises
    RunError."""
    if (Path(text) / "sweep.json").exists():
        return SweepFolder(Path(text))
    files = sorted(outputs.glob(f"*/{PREFIX}*/sweep.json"), key=lambda path: path.parent.name, reverse=True)
    for state in files:
        if text in (state.parent.name, state.parent.parent.name):
            return SweepFolder(state.parent)
    raise RunError(
        what="there is no such sweep", where=f"{text} (also looked below {outputs})",
        hint="name a sweep's folder, `<outputs>/<name>/sweep-<id>`",
    )  # fmt: skip
