"""Figures and texts of a run that its row, its order and the filter share."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from app.runs.run_list import RunRow
from app.verdict_text import verdicts
from engine.events.verdict import SHARE, Verdict
from screens.systems import system_of, systems_of


def headline(row: RunRow) -> Verdict | None:
    """What a run is remembered by: the last verdict of the first method that has one."""
    for system in systems_of(row.record.stages):
        if found := verdicts(row.record.stages, system.stages):
            return found[-1]
    return next(iter(row.verdicts), None)


def short_value(verdict: Verdict) -> str:
    """`0.965`, or `45.9`: of another unit than shares."""
    return f"{verdict.value:.3f}" if verdict.unit == SHARE else f"{verdict.value:,.1f}"


def gain(row: RunRow) -> float | None:
    """How much better than its baseline the run's first method is: above 0 is better, whatever is measured."""
    verdict = headline(row)
    if verdict is None:
        return None
    return -verdict.difference if verdict.lower_is_better else verdict.difference


def changes_text(row: RunRow) -> str:
    """`online.L=4 task.eval_size=50`"""
    return " ".join(f"{name}={shown_value(value)}" for name, value in row.record.changes.items())


def shown_value(value: object) -> str:
    """A value of the configuration as it may be typed."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def methods_text(row: RunRow) -> str:
    """Names of the run's methods and stages."""
    systems = {system.name: None for stage in row.record.stages if (system := system_of(stage)) is not None}
    return " ".join([*systems, *row.record.stages])


def config_text(row: RunRow) -> str:
    """The whole configuration, a `field=value` for each field."""
    return " ".join(_leaves(row.record.config, ""))


def _leaves(section: Mapping[str, Any], above: str) -> list[str]:
    found: list[str] = []
    for name, value in section.items():
        if isinstance(value, Mapping):
            found += _leaves(value, f"{above}{name}.")
        else:
            found.append(f"{above}{name}={shown_value(value)}")
    return found


_STATES = ("running", "paused", "hung", "interrupted", "stopped", "failed", "finished", "prepared")

ORDERS: dict[str, Callable[[RunRow], str | float | None]] = {
    "state": lambda r: _STATES.index(r.state) if r.state in _STATES else len(_STATES),
    "name": lambda r: r.title.lower(),
    "result": lambda r: None if (v := headline(r)) is None else v.value,
    "difference": gain,
    "methods": methods_text,
    "changes": changes_text,
    "tags": lambda r: " ".join(r.label.tags),
    "seconds": lambda r: r.seconds,
    "cost": lambda r: r.cost,
    "stage": lambda r: r.progress.name,
    "progress": lambda r: r.fraction,
    "eta": lambda r: None if r.time_left is None else r.time_left.whole,
    "started": lambda r: r.record.created,
    "size": lambda r: float(r.size),
    "id": lambda r: r.record.run_id,
}
"""What each column is ordered by."""
