"""Stages of equal inputs are done once: a new run of a sweep takes over what another run's stages left.

A stage's result may be taken over if the same stages came before it, on the same versions of Python and the packages,
and every field that it or one of those has read has the same value in the new run. So whatever a stage reads, of the
configuration or of files that earlier stages wrote, is the same.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from msgspec import structs

from engine.errors import RunError, disk_errors
from engine.events import Notice
from engine.files import inside
from engine.regular_file import open_to_append, open_to_read
from engine.run.directory import RunDirectory, RunRecord, StageRecord
from engine.run.event_log import EventLog, header_of
from engine.run.stage_inputs import StageInputs, read_inputs, result_files, write_inputs

Values = Mapping[str, str]
"""Every field of a configuration (`engine.config.recorded.all_values`)."""


@dataclass(frozen=True)
class Donor:
    """A run, and those of its first stages that another run can take over."""

    run: RunDirectory
    record: RunRecord
    inputs: Sequence[StageInputs]


def best_donor(
    runs: Sequence[RunDirectory], values: Values, stages: Sequence[str], versions: Mapping[str, str]
) -> Donor | None:
    """The run with the most stages to take over; None if there is none."""
    found = [_donor(run, values, stages, versions) for run in runs]
    donors = sorted(filter(None, found), key=lambda donor: -len(donor.inputs))
    return next((donor for donor in donors if _untouched(donor.run.path, donor.inputs[-1])), None)


def _donor(
    run: RunDirectory, values: Values, stages: Sequence[str], versions: Mapping[str, str]
) -> Donor | None:
    try:
        record = run.read()
    except RunError:
        return None
    if record.versions != versions or record.begun_again:  # its log tells of earlier attempts, too
        return None
    found: list[StageInputs] = []
    for mine, theirs in zip(stages, record.stages, strict=False):
        inputs = read_inputs(run.path, theirs) if mine == theirs else None
        if inputs is None or record.stages[theirs].status != "finished" or not agrees(inputs.fields, values):
            break
        found.append(inputs)
    return Donor(run, record, found) if found else None


def agrees(fields: Values, values: Values) -> bool:
    """Whether all these fields have the same values there."""
    return all(values.get(name) == value for name, value in fields.items())


def _untouched(run_dir: Path, inputs: StageInputs) -> bool:
    """Whether all files are as the stage left them."""
    now = result_files(run_dir)
    return all(now.get(name) == stamp for name, stamp in inputs.files.items())


def take_over(donor: Donor, path: Path, record: RunRecord) -> None:
    """Put the donor's stages into a run that is being made at `path`: files, log and the stages' records. Raises
    DiskError, and RunError if a file changes meanwhile."""
    last = donor.inputs[-1]
    with disk_errors(path):
        for name in last.files:
            target = inside(path, name)
            target.parent.mkdir(parents=True, exist_ok=True)
            with suppress(FileNotFoundError):  # then it has been touched
                shutil.copy2(donor.run.path / name, target)
    if not _untouched(path, last):
        raise RunError(
            what="a file of a finished stage changed while it was copied", where=str(donor.run.path),
            mend="resume the sweep: the stage is then done again",
        )  # fmt: skip
    ahead = _take_log(donor, path, record)
    for inputs in donor.inputs:
        theirs = donor.record.stages[inputs.stage]
        record.stages[inputs.stage] = StageRecord(
            status="finished", summary=theirs.summary, files=theirs.files, verdict=theirs.verdict,
            shared_from=theirs.shared_from or donor.record.run_id,
        )  # fmt: skip
        write_inputs(path, structs.replace(inputs, log=inputs.log + ahead))


def _take_log(donor: Donor, path: Path, record: RunRecord) -> int:
    """The events of the stages, behind a header of the run's own. Returns by how many bytes they stand further back."""
    directory = RunDirectory(path)
    header = header_of(record)
    EventLog(directory.events, header).close()
    with (
        disk_errors(directory.events),
        open_to_read(donor.run.events) as theirs,
        open_to_append(directory.events) as own,
    ):
        before = len(theirs.readline())
        ahead = own.tell() - before
        left = donor.inputs[-1].log - before
        while left > 0 and (part := theirs.read(min(left, 1 << 20))):
            own.write(part)
            left -= len(part)
        own.flush()
        os.fsync(own.fileno())
    log = EventLog(directory.events, header)
    names = ", ".join(inputs.stage for inputs in donor.inputs)
    log.emit(Notice(text=f"{names}: taken over from run {donor.record.run_id}, whose inputs are the same"))
    log.close()
    return ahead
