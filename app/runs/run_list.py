"""The list of the runs below some folders; reading it again every second costs little.

Only what may have changed is read again: a run without a worker whose record, lock and log have not changed
keeps its row.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import msgspec

from app.runs.run_names import UNNAMED, RunName, name_runs
from app.runs.time_left import TimeLeft, time_left
from app.wording.text import how_far
from app.wording.verdict_text import verdicts
from engine.errors import RunError
from engine.events import StageFinished, StageProgress, StageStarted
from engine.events.verdict import Verdict
from engine.regular_file import file_stamp, open_to_read
from engine.run.directory import (
    STALE,
    RunDirectory,
    RunRecord,
    RunStatus,
    StageRecord,
    inspect,
    run_folders,
)  # fmt: skip
from engine.run.stage_state import RUNNING, SKIPPED, STOPPED, WAITING, Stages, StageState, fold_stages

_TAILS = (1 << 16, 1 << 20, 1 << 22)
"""Bytes at the end of a log in which its last stage is looked for: a batch of decisions may fill much of them."""
Signature = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class RunRow:
    """A run as the list shows it. `state` is `RunStatus.state`; `progress`: of the last stage in its log; `name`:
    among the runs that it is shown with."""

    status: RunStatus
    progress: StageState
    name: RunName = UNNAMED

    @property
    def time_left(self) -> TimeLeft | None:
        """Until all its stages are done; None unless it works."""
        return time_left(self.record.name, self.stages.values()) if self.state == "running" else None

    @cached_property
    def stages(self) -> Mapping[str, StageState]:
        """Its stages: as the record has them, of the last one in the log how far it is."""
        stages, last = stage_states(self.status), self.record.stages.get(self.progress.name)
        if last is not None and not (last.settled or last.stale):
            stages[self.progress.name] = self.progress
        return stages

    @property
    def path(self) -> Path:
        """The run's folder."""
        return self.status.directory.path

    @property
    def record(self) -> RunRecord:
        """What `run.json` says."""
        return self.status.record

    @property
    def title(self) -> str:
        """What distinguishes it from the runs that it is shown with, else its name."""
        return self.name.text or self.record.name

    @property
    def verdicts(self) -> list[Verdict]:
        """What its methods reached, in the order of its stages."""
        return verdicts(self.record.stages)

    @property
    def seconds(self) -> float:
        """What its stages took so far, over all attempts that were not killed."""
        stages = self.record.stages
        active = stages.get(self.progress.name)
        open_one = active is not None and active.status != "finished" and self.working
        return sum(stage.seconds for stage in stages.values()) + (self.progress.elapsed if open_one else 0.0)

    @property
    def cost(self) -> float | None:
        """What its stages cost, in the prices' unit, as far as it is recorded."""
        costs = [verdict.cost for verdict in self.verdicts if verdict.cost is not None]
        return sum(costs) if costs else None

    @property
    def state(self) -> str:
        """prepared, running, paused, hung, interrupted, stopped, failed or finished."""
        return self.status.state

    @property
    def stage_reached(self) -> str:
        """`eval 80/200`; `all stages` of a run that is finished, empty before the first."""
        at = self.progress
        if self.state == "finished":
            return "all stages"
        return f"{at.name} {how_far(at.done, at.total)}" if at.name else ""

    @property
    def working(self) -> bool:
        """Whether a worker runs."""
        return self.status.alive

    @property
    def resumable(self) -> bool:
        """Whether a new worker could continue it."""
        return not self.working and self.state != "finished"

    @property
    def fraction(self) -> float:
        """Share of the run that is done, counting its stages as equally long."""
        return sum(stage.fraction for stage in self.stages.values()) / (len(self.stages) or 1)


def named(rows: Sequence[RunRow]) -> list[RunRow]:
    """Runs that are shown together, with their names."""
    names = name_runs([row.record for row in rows])
    return [replace(row, name=name) for row, name in zip(rows, names, strict=True)]


class RunList:
    """Reads the runs below `folders`. Made for one thread."""

    def __init__(self, *folders: Path) -> None:
        self.folders = list(folders)
        self._known: dict[Path, tuple[Signature, RunRow]] = {}
        """Runs as they were read last."""
        self.unreadable: dict[Path, RunError] = {}
        """Folders that have a record which cannot be read, after the last `read`: they are in no row."""

    def add_folder(self, folder: Path) -> None:
        """List the runs of another folder as well."""
        if folder.absolute() not in [known.absolute() for known in self.folders]:
            self.folders.append(folder)

    def read(self) -> list[RunRow]:
        """All runs, newest first."""
        self.unreadable = {}
        rows = {path: self._row(path) for folder in self.folders for path in run_folders(folder)}
        self._known = {path: known for path, known in self._known.items() if path in rows}
        readable = [row for row in rows.values() if row is not None]
        return sorted(readable, key=lambda row: (row.record.created, row.path.name), reverse=True)

    def _row(self, path: Path) -> RunRow | None:
        directory = RunDirectory(path)
        signature = tuple(map(file_stamp, (directory.record, directory.lock, directory.events)))
        known, row = self._known.get(path, (None, None))
        if row is not None and known == signature and not row.working:
            return row
        try:
            status = inspect(path)
        except RunError as error:
            if directory.record.exists():  # else it was moved away a moment ago
                self.unreadable[path] = error
            return None
        row = RunRow(status, read_progress(directory))
        self._known[path] = signature, row
        return row


def stage_states(status: RunStatus) -> dict[str, StageState]:
    """The stages as the record has them, which knows no items."""
    stages = status.record.stages
    return {name: _state_of(name, stage, status.alive) for name, stage in stages.items()}


def _state_of(name: str, stage: StageRecord, working: bool) -> StageState:
    known = stage.status if stage.status not in ("pending", STALE) else WAITING
    if known == RUNNING and not working:
        known = STOPPED
    return StageState(
        name, SKIPPED if stage.skipped else known, seconds=stage.seconds, summary=stage.summary,
        files=tuple(stage.files), verdict=stage.verdict, stale=stage.stale,
    )  # fmt: skip


def read_progress(directory: RunDirectory) -> StageState:
    """The last stage in the log, folded from the end of the log alone; without a name if the log has no stage."""
    stages: Stages = {}
    name, first = "", None
    for event in _last_stage_events(directory.events):
        name = event.stage
        if isinstance(event, StageStarted):
            first = None
        elif isinstance(event, StageProgress) and name not in stages:
            stages[name], first = StageState(name, RUNNING), event
        fold_stages(stages, event)
    stage = stages.get(name, StageState(""))
    if first is None or first.stage != name or stage.done <= first.done:
        return stage
    # The stage started before the part that was read: its pace counts from the first report in that part.
    return replace(stage, begun_at=first.done, begun_after=first.elapsed)


def _last_stage_events(path: Path) -> Iterator[StageStarted | StageProgress | StageFinished]:
    """The stage events at the end of a log, in order."""
    lines: list[bytes] = []
    with suppress(OSError), open_to_read(path) as file:
        size = os.fstat(file.fileno()).st_size
        for tail in _TAILS:
            start = max(0, size - tail)
            data = os.pread(file.fileno(), size - start, start)
            whole = data[: data.rfind(b"\n") + 1].split(b"\n")[(1 if start else 0) : -1]
            lines = [line for line in whole if line.startswith(_HEADS)]
            if lines or not start:
                break
    for line in lines:
        with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            yield _decoder.decode(line)


_decoder = msgspec.json.Decoder(StageStarted | StageProgress | StageFinished)
_HEADS = tuple(
    f'{{"type":"{kind.__name__}"'.encode() for kind in (StageStarted, StageProgress, StageFinished)
)
