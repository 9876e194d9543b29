"""The runs of a sweep: how one is made, what state it is in, and which has to wait for another's stages."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from engine.config.config import Config
from engine.config.file import dump_config
from engine.config.recorded import all_values
from engine.errors import RunError, disk_errors
from engine.files import write_atomic
from engine.run.directory import (
    RunDirectory,
    RunRecord,
    RunStatus,
    SweepPoint,
    inspect,
    new_record,
)
from engine.run.stage_inputs import read_fields, read_inputs
from engine.sweep.prepare import point_config
from engine.sweep.sharing import Donor, agrees, best_donor, take_over
from engine.sweep.sweep import Point, SweepFolder, SweepRecord
from engine.versions import versions

_UNFINISHED = "unfinished-"


def status_of(folder: SweepFolder, point: Point) -> RunStatus | None:
    """The state of a run; None while it has no folder."""
    try:
        return inspect(folder.run(point).path)
    except RunError:
        return None


@dataclass(frozen=True)
class Begun:
    """A run with a living worker."""

    run: RunDirectory
    record: RunRecord


class RunMaker:
    """Makes the runs of a sweep, each with the stages that another one has done already."""

    def __init__(self, folder: SweepFolder, record: SweepRecord) -> None:
        self.folder, self.record = folder, record
        self.versions = versions()
        self._values: dict[str, tuple[Config, Mapping[str, str]]] = {}
        for path in folder.path.glob(f"{_UNFINISHED}*"):
            shutil.rmtree(path, ignore_errors=True)

    @property
    def points(self) -> list[Point]:
        """All points, the reported one last."""
        return self.record.all_points

    def config(self, point: Point) -> Config:
        """The configuration of a run."""
        return self._known(point)[0]

    def values(self, point: Point) -> Mapping[str, str]:
        """Every field of it."""
        return self._known(point)[1]

    def _known(self, point: Point) -> tuple[Config, Mapping[str, str]]:
        if point.run_id not in self._values:
            config = point_config(self.folder, self.record, point)
            self._values[point.run_id] = (config, all_values(config))
        return self._values[point.run_id]

    def made(self, points: Iterable[Point]) -> list[RunDirectory]:
        """The folders that are there."""
        return [run for run in map(self.folder.run, points) if run.record.exists()]

    def donor(self, point: Point, runs: Sequence[RunDirectory]) -> Donor | None:
        """The run from which most can be taken over now."""
        return best_donor(runs, self.values(point), self.config(point).run.stages, self.versions)

    def must_wait(self, point: Point, donor: Donor | None, begun: Sequence[Begun]) -> bool:
        """Whether a run at work may soon have done the next stage of this one: that is then not done a second time.
        Only time depends on the answer."""
        stages = self.config(point).run.stages
        done = len(donor.inputs) if donor else 0
        return done < len(stages) and any(self._may_do(point, stages, done, other) for other in begun)

    def _may_do(self, point: Point, stages: Sequence[str], done: int, other: Begun) -> bool:
        theirs = list(other.record.stages)
        stage = stages[done]
        if theirs[: done + 1] != stages[: done + 1] or other.record.stages[stage].status == "finished":
            return False
        values = self.values(point)
        if not all(agrees(read_fields(other.run.path, earlier), values) for earlier in stages[: done + 1]):
            return False
        return not self._known_to_differ(stage, point, other)

    def _known_to_differ(self, stage: str, point: Point, other: Begun) -> bool:
        """Whether a run that is through with the stage has read a field that these two have otherwise."""
        own = self.values(point)
        them = self.values(next(p for p in self.points if p.run_id == other.record.run_id))
        for run in self.made(self.points):
            inputs = read_inputs(run.path, stage)
            if inputs is not None and any(own.get(name) != them.get(name) for name in inputs.fields):
                return True
        return False

    def make(self, point: Point, donor: Donor | None) -> RunDirectory:
        """The folder of a run, whole or not at all. Raises DiskError."""
        run = self.folder.run(point)
        try:
            return self._make(run, point, donor)
        except RunError:  # a donor's file was changed by someone: then it is no donor
            return self._make(run, point, None)

    def _make(self, run: RunDirectory, point: Point, donor: Donor | None) -> RunDirectory:
        config = self.config(point)
        record = new_record(
            self.record.name, point.run_id, seed=config.run.seed, stages=config.run.stages,
            config=config.model_dump(mode="json"), versions=self.versions,
            changes={**self.record.changes, **point.setting},
        )  # fmt: skip
        record.sweep = SweepPoint(
            folder=self.folder.path.name, number=point.number, setting=point.setting,
            report=self.record.report is not None and point.run_id == self.record.report.run_id,
        )  # fmt: skip
        unfinished = RunDirectory(self.folder.path / f"{_UNFINISHED}{point.run_id}")
        try:
            write_atomic(unfinished.config, dump_config(config))
            if donor is not None:
                take_over(donor, unfinished.path, record)
            unfinished.write(record)
            with disk_errors(run.path):
                unfinished.path.rename(run.path)
        finally:
            shutil.rmtree(unfinished.path, ignore_errors=True)
        return run
