"""The runs of a sweep: how one is made, what state it is in, and which has to wait for another's stages."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence

from engine.config.config import Config
from engine.config.file import dump_config
from engine.errors import RunError, disk_errors
from engine.files import write_atomic
from engine.run.directory import (
    RunDirectory,
    RunStatus,
    SweepPoint,
    new_record,
)
from engine.sweep.prepare import point_config
from engine.sweep.sharing import Donor, best_donor, common_stages, take_over
from engine.sweep.sweep import Point, SweepFolder, SweepRecord
from engine.versions import versions

_UNFINISHED = "unfinished-"


class RunMaker:
    """Makes the runs of a sweep, each with the stages that another one has done already."""

    def __init__(self, folder: SweepFolder, record: SweepRecord) -> None:
        self.folder, self.record = folder, record
        self.versions = versions()
        self._configs: dict[str, Config] = {}
        for path in folder.path.glob(f"{_UNFINISHED}*"):
            shutil.rmtree(path, ignore_errors=True)

    def config(self, point: Point) -> Config:
        """The configuration of a run."""
        if point.run_id not in self._configs:
            self._configs[point.run_id] = point_config(self.folder, self.record, point)
        return self._configs[point.run_id]

    def made(self, points: Iterable[Point]) -> list[RunDirectory]:
        """The folders that are there."""
        return [run for run in map(self.folder.run, points) if run.record.exists()]

    def donor(self, point: Point, runs: Sequence[RunDirectory]) -> Donor | None:
        """The run from which most can be taken over now."""
        return best_donor(((run, self._common_stages(point, run)) for run in runs), self.versions)

    def must_wait(self, point: Point, donor: Donor | None, begun: Sequence[RunStatus]) -> bool:
        """Whether one of the runs at work does the next stage of this one: that is then not done a second time."""
        done = len(donor.stages) if donor else 0
        return any(self._does(point, done, other) for other in begun)

    def _does(self, point: Point, done: int, other: RunStatus) -> bool:
        common = self._common_stages(point, other.directory)
        return done < len(common) and other.record.stages[common[done]].status != "finished"

    def _common_stages(self, point: Point, run: RunDirectory) -> list[str]:
        other = next(other for other in self.record.all_points if other.run_id == run.path.name)
        return common_stages(self.config(point), self.config(other))

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
