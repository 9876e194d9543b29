"""Stages of equal inputs are done once: a new run of a sweep takes over what another run's stages left.

A stage's result may be taken over if the same stages came before it, on the same versions of Python and the packages,
and whatever it and those declare to read (`StageEntry.reads`) has the same values in the new run.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice, takewhile
from pathlib import Path

from msgspec import structs

from engine.config.config import Config
from engine.config.stages import stage_inputs
from engine.errors import RunError, disk_errors
from engine.events import Notice
from engine.files import inside
from engine.regular_file import open_to_append, open_to_read
from engine.run.directory import RunDirectory, RunRecord
from engine.run.event_log import EventLog, header_of
from engine.run.stage_files import StageFiles, read_stage_files, result_files, stage_file


@dataclass(frozen=True)
class Donor:
    """A run, and those of its first `stages` that another run can take over; `left`: what was there after them."""

    run: RunDirectory
    record: RunRecord
    stages: Sequence[str]
    left: StageFiles


def common_stages(config: Config, other: Config) -> list[str]:
    """The first stages that do the same with both configurations."""
    pairs = takewhile(
        lambda names: names[0] == names[1], zip(config.run.stages, other.run.stages, strict=False)
    )
    return list(takewhile(lambda name: _same_inputs(name, config, other), (name for name, _ in pairs)))


def _same_inputs(stage: str, config: Config, other: Config) -> bool:
    inputs = stage_inputs(stage, config)
    return inputs is not None and inputs == stage_inputs(stage, other)


def best_donor(runs: Iterable[tuple[RunDirectory, Sequence[str]]], versions: dict[str, str]) -> Donor | None:
    """The run with the most stages to take over; None if there is none. `runs`: each with the stages that are the same
    there."""
    donors = [donor for run, stages in runs if (donor := _donor(run, stages, versions))]
    donors.sort(key=lambda donor: -len(donor.stages))
    return next((donor for donor in donors if _unchanged(donor.run.path, donor.left)), None)


def _donor(run: RunDirectory, stages: Sequence[str], versions: dict[str, str]) -> Donor | None:
    try:
        record = run.read()
    except RunError:
        return None
    if record.versions != versions or record.begun_again:  # its log has earlier attempts, too
        return None
    finished = list(takewhile(lambda name: record.stages[name].status == "finished", stages))
    left = read_stage_files(run.path, finished[-1]) if finished else None
    return Donor(run, record, finished, left) if left else None


def _unchanged(run_dir: Path, left: StageFiles) -> bool:
    return left.files.items() <= result_files(run_dir).items()


def take_over(donor: Donor, path: Path, record: RunRecord) -> None:
    """Put the donor's stages into a run that is being made at `path`: files, log and the stages' records. Raises
    DiskError, and RunError if a file changes meanwhile."""
    with disk_errors(path):
        for name in (*donor.left.files, *map(stage_file, donor.stages)):
            target = inside(path, name)
            target.parent.mkdir(parents=True, exist_ok=True)
            with suppress(FileNotFoundError):  # then somebody has changed it
                shutil.copy2(donor.run.path / name, target)
    if not _unchanged(path, donor.left):
        raise RunError(
            what="a file of a finished stage changed while it was copied", where=str(donor.run.path),
            hint="resume the sweep: the stage is then done again",
        )  # fmt: skip
    for name in donor.stages:
        theirs = donor.record.stages[name]
        shared_from = theirs.shared_from or donor.record.run_id
        record.stages[name] = structs.replace(theirs, seconds=0.0, skipped=None, shared_from=shared_from)
    _take_log(donor, RunDirectory(path).events, record)


def _take_log(donor: Donor, path: Path, record: RunRecord) -> None:
    """The events of the stages, behind a header of the run's own."""
    EventLog(path, header_of(record)).close()
    with disk_errors(path), open_to_read(donor.run.events) as theirs, open_to_append(path) as log:
        log.writelines(islice(theirs, 1, donor.left.events))
    log = EventLog(path, header_of(record))
    names = ", ".join(donor.stages)
    log.emit(Notice(text=f"{names}: taken over from run {donor.record.run_id}, whose inputs are the same"))
    log.close()
