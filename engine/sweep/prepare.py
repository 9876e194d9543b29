"""Making a sweep: its folder, and the configuration of each of its runs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engine.config.changes import changed_fields
from engine.config.config import Config
from engine.config.file import dump_config, load_config
from engine.config.form import as_typed
from engine.errors import ConfigError
from engine.files import write_atomic
from engine.run.directory import new_run_id
from engine.sweep.grammar import settings_of
from engine.sweep.sweep import PREFIX, Axis, Point, SweepFolder, SweepRecord

_DEV_SPLITS = {"generated": "dev", "arc-c": "validation"}
_SPLIT = "task.eval_split"


def point_config(folder: SweepFolder, record: SweepRecord, point: Point) -> Config:
    """The configuration of one of a sweep's runs. Raises ConfigError."""
    return load_config(folder.config, point_changes(record, point))


def point_changes(record: SweepRecord, point: Point) -> list[str]:
    """What a point changes of the common configuration."""
    changes = [f"{name}={as_typed(value)}" for name, value in point.setting.items()]
    scored_elsewhere = record.choose_on and point != record.report
    return [*changes, f"{_SPLIT}={as_typed(record.choose_on)}"] if scored_elsewhere else changes


def prepare_sweep(
    config_path: Path,
    specs: Sequence[str],
    axes: Sequence[Axis],
    overrides: Sequence[str] = (),
    *,
    jobs: int = 1,
    choose_on: str | None = None,
) -> SweepFolder:
    """Make the folder of a sweep, once every configuration in it is right; none of its runs is made yet. `choose_on`:
    None for the data set's default split, if it has one. Raises ConfigError, DiskError."""
    settings = settings_of(axes)
    # Also a file that is right only with what is swept, such as a required path, is a configuration.
    base = load_config(config_path, [*overrides, *_typed(settings[0])])
    split = _DEV_SPLITS.get(base.task.dataset, "") if choose_on is None else choose_on
    split = "" if split == base.task.eval_split or "eval" not in base.run.stages else split
    on_split = [f"{_SPLIT}={as_typed(split)}"] if split else []
    for setting in settings:
        load_config(config_path, [*overrides, *_typed(setting), *on_split])
    now = time.time()
    run_id = new_run_id(now)
    folder = SweepFolder(Path(base.run.outputs) / base.run.name / f"{PREFIX}{run_id}")
    points = [Point(n, f"{run_id}-{n:03}", setting) for n, setting in enumerate(settings, 1)]
    write_atomic(folder.config, dump_config(base))
    folder.write(
        SweepRecord(
            name=base.run.name, created=now, specs=list(specs), axes=list(axes), jobs=jobs, choose_on=split,
            points=points, changes=_changes(config_path, overrides),
        )
    )  # fmt: skip
    return folder


def _typed(setting: dict[str, Any]) -> list[str]:
    return [f"{name}={as_typed(value)}" for name, value in setting.items()]


def _changes(config_path: Path, overrides: Sequence[str]) -> dict[str, Any]:
    """What the overrides change of the file; nothing is known of a file that is wrong by itself."""
    try:
        before, after = load_config(config_path), load_config(config_path, overrides)
    except ConfigError:
        return {}
    changed = changed_fields(before.model_dump(mode="json"), after.model_dump(mode="json"))
    return {name: value for name, value in changed.items() if name != "run.outputs"}
