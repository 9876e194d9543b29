"""A run's folder `outputs/<name>/<run_id>/`: its paths, its record `run.json`, and what state it is in.

Light on purpose (standard library and msgspec), because the console reads it before anything else.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from engine.errors import RunError, disk_errors
from engine.events.verdict import Verdict
from engine.files import write_atomic
from engine.regular_file import LARGEST_RECORD, read_regular
from engine.run.lock import HUNG_AFTER, LockInfo, read_lock

RECORD_VERSION = 1
"""Goes up with what an earlier version would read wrongly, in the record or in the log."""
STALE = "stale"
"""Status of a stage that is to be done again, or rests on one: its results are of an earlier attempt."""
STARTING = "starting"
"""State of a run that the process which started its worker shows until the worker holds the lock."""
_LATEST = 1e11
"""The latest time that can be shown as a date, in seconds since 1970."""


class StageRecord(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A stage of a run. `status`: pending, running, finished, stopped, failed, stale; `seconds` over all attempts.
    `skipped`: the user leaves it out; None where that was never chosen. `shared_from`: id of the run of the same sweep
    that did it."""

    status: str = "pending"
    seconds: float = 0.0
    summary: dict[str, float | int | str] = {}
    files: list[str] = []
    verdict: Verdict | None = None
    skipped: bool | None = None
    shared_from: str = ""

    @property
    def stale(self) -> bool:
        """Whether its results are of an attempt that is to be done again."""
        return self.status == STALE

    @property
    def settled(self) -> bool:
        """Whether nothing is left to be done: it is finished, or left out."""
        return bool(self.skipped) or self.status == "finished"

    @property
    def words(self) -> str:
        """Its status, and that it is left out."""
        if not self.skipped:
            return self.status
        return "skipped" if self.status == "pending" else f"{self.status}, skipped"


class SweepPoint(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The place of a run in a sweep: the sweep's folder beside the run's, its number there, and the values that it
    tries by field. `report`: it is the chosen setting's run on the split that is reported."""

    folder: str
    number: int
    setting: dict[str, Any]
    report: bool = False


class RunRecord(msgspec.Struct, kw_only=True):
    """`run.json`. `status`: prepared, running, paused, finished, stopped, failed. `config` is the resolved one.

    `seeds` holds the run's seed; every draw's seed follows from it (`engine.seeds`). `failure` says what went
    wrong in one line, if the last attempt failed. `changes` are the fields that were set over the configuration
    file when the run was prepared, dotted; `sweep` is there in a run of a sweep. `begun_again`: how often the user had
    stages done again.
    """

    record_version: int = RECORD_VERSION
    name: str
    run_id: str
    status: str = "prepared"
    created: float
    updated: float
    attempts: int = 0
    seeds: dict[str, int]
    stages: dict[str, StageRecord]
    versions: dict[str, str]
    config: dict[str, Any]
    failure: str = ""
    changes: dict[str, Any] = {}
    sweep: SweepPoint | None = None
    begun_again: int = 0


@dataclass(frozen=True)
class RunDirectory:
    """Where things are in a run's folder."""

    path: Path

    @property
    def record(self) -> Path:
        return self.path / "run.json"

    @property
    def config(self) -> Path:
        return self.path / "config.yaml"

    @property
    def events(self) -> Path:
        return self.path / "events.jsonl"

    @property
    def control(self) -> Path:
        return self.path / "control.sock"

    @property
    def lock(self) -> Path:
        return self.path / "worker.lock"

    @property
    def worker_log(self) -> Path:
        return self.path / "worker.log"

    def read(self) -> RunRecord:
        """The record. Raises RunError if this is no run, or one of a later version."""
        try:
            record = msgspec.json.decode(read_regular(self.record, LARGEST_RECORD), type=RunRecord)
            if not all(0 <= moment < _LATEST for moment in (record.created, record.updated)):
                raise msgspec.DecodeError("its times are none")
        except OSError as error:
            what = f"this is not a run: {error.strerror}"
            hint = "name a run's folder, `<outputs>/<name>/<run id>`"
            raise RunError(what=what, where=str(self.record), hint=hint) from error
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            what = f"this is not a run's record: {error}"
            hint = "restore the file, or start a new run"
            raise RunError(what=what, where=str(self.record), hint=hint) from error
        if record.record_version > RECORD_VERSION:
            raise RunError(
                what=f"this run was written by a later version of steer-tui (its record has version "
                f"{record.record_version}, this version reads up to {RECORD_VERSION})",
                where=str(self.record),
                hint="update steer-tui, or use the version that wrote it",
            )
        return record

    def write(self, record: RunRecord) -> None:
        """Replace the record, atomically."""
        record.updated = time.time()
        write_atomic(self.record, msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n")


@dataclass(frozen=True)
class RunStatus:
    """A run's record together with whether its worker lives.

    `state`: prepared, running, paused, finished, stopped, failed as recorded; *interrupted* when the worker
    ended without a report; *hung* (presumed) when it lives and its heartbeat is old. `heartbeat_age` is in
    seconds, None without a living worker.
    """

    directory: RunDirectory
    record: RunRecord
    state: str
    pid: int | None = None
    host: str = ""
    heartbeat_age: float | None = None
    failure: str = ""

    @property
    def alive(self) -> bool:
        """Whether a worker is there."""
        return self.pid is not None


def inspect(path: Path) -> RunStatus:
    """What state a run is in. Raises RunError if `path` is no run, or one of a later version."""
    directory = RunDirectory(path)
    record = directory.read()
    lock = read_lock(directory.lock)
    if lock is None or not lock.alive:
        state, failure = _state_of_dead(record, lock)
        return RunStatus(directory, record, state, failure=failure)
    working = "paused" if record.status == "paused" else "running"
    state = "hung" if lock.age > HUNG_AFTER else working
    return RunStatus(directory, record, state, lock.pid, lock.host, lock.age)


def _state_of_dead(record: RunRecord, lock: LockInfo | None) -> tuple[str, str]:
    if record.status not in ("running", "paused"):
        return record.status, record.failure
    if lock is not None and lock.last_words:
        return "failed", lock.last_words
    return "interrupted", ""


def create_run(outputs: Path, record: RunRecord, config_text: str) -> RunDirectory:
    """Make the folder of a new run: record and configuration; a run that has its id already is left alone, and this one
    gets another. Raises DiskError where it cannot be written."""
    with disk_errors(outputs):
        (outputs / record.name).mkdir(parents=True, exist_ok=True)
        while True:
            directory = RunDirectory(outputs / record.name / record.run_id)
            with suppress(FileExistsError):
                directory.path.mkdir()
                break
            record.run_id = new_run_id(record.created)
    write_atomic(directory.config, config_text)
    directory.write(record)
    return directory


def new_record(
    name: str,
    run_id: str = "",
    *,
    seed: int,
    stages: Sequence[str],
    config: Mapping[str, Any],
    versions: Mapping[str, str],
    changes: Mapping[str, Any] | None = None,
) -> RunRecord:
    """The record of a run that has not begun; without a `run_id` it gets a new one."""
    now = time.time()
    return RunRecord(
        name=name,
        run_id=run_id or new_run_id(now),
        created=now,
        updated=now,
        seeds={"run": seed},
        stages={stage: StageRecord() for stage in stages},
        versions=dict(versions),
        config=dict(config),
        changes=dict(changes or {}),
    )


def new_run_id(now: float) -> str:
    """Sortable: UTC to the second, and four random characters against a second run in it."""
    return datetime.fromtimestamp(now, UTC).strftime("%Y%m%d-%H%M%S-") + secrets.token_hex(2)


def discover(outputs: Path) -> list[RunStatus]:
    """All runs below `outputs`, newest first. Whatever is not a run is passed over."""
    runs: list[RunStatus] = []
    for path in run_folders(outputs):
        with suppress(RunError):
            runs.append(inspect(path))
    return sorted(runs, key=lambda run: (run.record.created, run.record.run_id), reverse=True)


def run_folders(outputs: Path) -> Iterator[Path]:
    """The folders below `outputs` that have a record."""
    for folder in _folders(outputs):
        for path in _folders(folder):
            if os.path.exists(path / "run.json"):
                yield path


def find_runs(text: str, outputs: Path) -> list[RunDirectory]:
    """The runs that may be meant by a path, a run id, or an experiment's name or folder, newest first.

    Raises RunError naming what was looked for, if there is none.
    """
    given = Path(text)
    if (given / "run.json").exists():
        return [RunDirectory(given)]
    below = [run for run in discover(given.parent) if run.directory.path.parent == given]
    named = [run for run in discover(outputs) if text in (run.record.run_id, run.record.name)]
    matches = [run.directory for run in below or named or discover(given)]
    if not matches:  # who opens one whose record cannot be read is told why
        unread = sorted(run_folders(outputs), reverse=True)
        matches = [RunDirectory(path) for path in unread if text in path.parts[-2:]]
    if not matches:
        hint = "name a run's folder or id; `steer-tui` lists the runs of the outputs folder"
        raise RunError(what="there is no such run", where=f"{text} (also looked below {outputs})", hint=hint)
    return matches


def _folders(path: Path) -> list[Path]:
    """The folders in `path`, in order; links that lead nowhere and what cannot be read are no folders."""
    try:
        names = sorted(os.listdir(path))
    except OSError:
        return []
    return [path / name for name in names if os.path.isdir(path / name)]
