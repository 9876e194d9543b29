"""What a user chooses about the stages of a run: begin one again, leave one out, end the run after one.

The choices stand in `run.json`, stage by stage, before anything else happens; the log tells of each change with a
`StagesChosen` event. So a kill at any moment loses none of them, and the next worker finishes what was begun.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from glob import escape
from pathlib import Path
from typing import Literal, get_args

import msgspec

from engine.config.stages import STAGES, all_needs, resting_on
from engine.errors import RunError, disk_errors
from engine.events import StagesChosen
from engine.files import inside, write_atomic
from engine.run.directory import STALE, RunDirectory, RunRecord, StageRecord
from engine.run.event_log import EventLog, header_of
from engine.run.lock import RunLock
from engine.run.stage_files import stage_file

Choice = Literal["again", "skip", "last"]
CHOICES: tuple[Choice, ...] = get_args(Choice)
KEPT_TEXTS = "kept_texts.jsonl"
"""What the model has finished and no stage has stored yet."""
_EARLIER = "earlier"
_HALF_DONE = ("running", "stopped", "failed")


@dataclass(frozen=True)
class StageChange:
    """What a choice changes. `stages`, in the run's order: done again, left out, or with `undo` done after all."""

    choice: Choice
    stage: str
    stages: tuple[str, ...]
    undo: bool = False


def choose(run: RunDirectory, choice: Choice, stage: str, undo: bool = False) -> StageChange:
    """Make a choice for a run without a worker, and put the results of stale stages aside. Raises RunError where it
    cannot be made, or a worker works on the run; DiskError."""
    lock = RunLock(run.lock)
    try:
        record = run.read()
        change = change_of(record, choice, stage, undo)
        apply(record, change)
        run.write(record)
        put_aside(run.path, record)
        log = EventLog(run.events, header_of(record))
        log.emit(chosen(record))
        log.close()
    finally:
        lock.release()
    return change


def change_of(
    record: RunRecord, choice: Choice, stage: str, undo: bool = False, working: bool = False
) -> StageChange:
    """What a choice would change. `working`: a worker works on the run. Raises RunError where it cannot be made."""
    if stage not in record.stages:
        raise _refused(record, f"the run has no stage `{stage}`", f"one of {', '.join(record.stages)}")
    if choice == "again":
        stages = _again(record, stage, undo, working)
    elif choice == "skip":
        stages = _included(record, stage) if undo else _skipped(record, stage)
    else:
        stages = _after(record, stage, undo)
    at_work = [name for name in stages if working and record.stages[name].status == "running"]
    if at_work:
        raise _refused(
            record, f"`{at_work[0]}` is at work", f"make `{at_work[0]}` the last one, or stop the run"
        )
    return StageChange(choice, stage, tuple(stages), undo)


def _again(record: RunRecord, stage: str, undo: bool, working: bool) -> list[str]:
    if undo:
        raise _refused(
            record, "what was begun again is not taken back", f"the earlier results are kept in {_EARLIER}/"
        )
    if working:
        hint = f"stop it first (S, or `steer-tui ctl stop`), then begin `{stage}` again"
        raise _refused(record, "a worker works on the run", hint)
    if record.stages[stage].skipped:
        raise _refused(record, f"`{stage}` is skipped", "undo that first")
    if record.stages[stage].status == "pending":
        raise _refused(record, f"`{stage}` has not begun: nothing is done again", "resume the run")
    stages = [
        name for name in resting_on(stage, list(record.stages)) if record.stages[name].status != "pending"
    ]
    if unknown := [name for name in stages if not _writes(name, record.stages[name])]:
        hint = "name them in the `writes` of its entry (engine/README.md)"
        raise _refused(record, f"`{unknown[0]}` does not say which files it writes", hint)
    return stages


def _skipped(record: RunRecord, stage: str) -> list[str]:
    if record.stages[stage].status == "finished":
        raise _refused(record, f"`{stage}` is finished: there is nothing to skip", "choose a later stage")
    if record.stages[stage].skipped:
        raise _refused(record, f"`{stage}` is skipped already", "undo that to have it done")
    return [name for name in resting_on(stage, list(record.stages)) if not record.stages[name].settled]


def _included(record: RunRecord, stage: str) -> list[str]:
    needed = {stage, *all_needs(stage)}
    if not record.stages[stage].skipped:
        raise _refused(record, f"`{stage}` is not skipped", "it is done when its turn comes")
    return [name for name, one in record.stages.items() if name in needed and one.skipped]


def _after(record: RunRecord, stage: str, undo: bool) -> list[str]:
    names = list(record.stages)
    later = names[names.index(stage) + 1 :]
    if record.stages[stage].skipped:
        raise _refused(record, f"`{stage}` is skipped", "choose a stage that is done, or undo that first")
    if undo:
        skipped = {name for name in names if record.stages[name].skipped}
        stages = [
            name for name in later if name in skipped and not all_needs(name) & skipped.difference(later)
        ]
    else:
        stages = [name for name in later if not record.stages[name].settled]
    if not stages:
        what = "no stage is left out" if undo else "no stage is left to be done"
        raise _refused(record, f"{what} after `{stage}`", "nothing has to be changed")
    return stages


def _refused(record: RunRecord, what: str, hint: str) -> RunError:
    return RunError(what=what, where=f"{record.name}/{record.run_id}", hint=hint)


def apply(record: RunRecord, change: StageChange) -> None:
    """Change the record. What is done again is stale from here on."""
    stages = [record.stages[name] for name in change.stages]
    if change.choice == "again":
        record.begun_again += any(stage.status != STALE for stage in stages)
        record.failure = ""
        for stage in stages:
            stage.status = STALE
    else:
        for stage in stages:
            stage.skipped = not change.undo
    left = not all(stage.settled for stage in record.stages.values())
    if record.status == "failed" or (record.status == "finished" and left):
        record.status = "stopped"


def chosen(record: RunRecord) -> StagesChosen:
    """All choices as they stand."""
    return StagesChosen(
        stale=[name for name, stage in record.stages.items() if stage.status == STALE],
        skipped=[name for name, stage in record.stages.items() if stage.skipped],
        kept=kept_in(record),
    )


def has_choices(record: RunRecord) -> bool:
    """Whether there is anything to tell, taken back or not."""
    return any(stage.skipped is not None or stage.status == STALE for stage in record.stages.values())


def kept_in(record: RunRecord) -> str:
    """The folder below the run's that holds what stages left before they were begun again; "" if there is none."""
    return f"{_EARLIER}/{record.begun_again}" if record.begun_again else ""


def put_aside(run_dir: Path, record: RunRecord) -> None:
    """Move what stale stages left, with their records, to the folder that `kept_in` names; what is there already stays.
    Raises DiskError."""
    stale = {name: stage for name, stage in record.stages.items() if stage.status == STALE}
    if not stale:
        return
    kept = run_dir / kept_in(record)
    if not (kept / "stages.json").exists():
        write_atomic(kept / "stages.json", msgspec.json.format(msgspec.json.encode(stale), indent=2) + b"\n")
    with disk_errors(kept):
        for name, stage in stale.items():
            _move(run_dir, _writes(name, stage), kept)
        if not any(stage.status in _HALF_DONE for stage in record.stages.values()):
            _move(run_dir, [KEPT_TEXTS], kept)


def _move(run_dir: Path, patterns: Iterable[str], kept: Path) -> None:
    for path in [path for pattern in patterns for path in run_dir.glob(str(inside(Path(), pattern)))]:
        target = kept / path.relative_to(run_dir)
        target.parent.mkdir(parents=True, exist_ok=True)
        os.replace(path, target)


def _writes(name: str, stage: StageRecord) -> tuple[str, ...]:
    """Patterns of what a stage writes; of a stage without an entry what it named when it was finished."""
    written = STAGES[name].writes if name in STAGES else tuple(map(escape, stage.files))
    return (*written, stage_file(name)) if written else ()
