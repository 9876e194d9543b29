"""Figures and texts of a run that its row, its order and the filter share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from app.runs.run_list import RunRow
from app.runs.run_names import value_words
from app.table.filter import Value
from app.verdict_text import verdicts
from engine.events.verdict import Verdict
from screens.systems import system_of, systems_of


def headline(row: RunRow) -> Verdict | None:
    """What a run is remembered by: the last verdict of the first method that has one."""
    for system in systems_of(row.record.stages):
        if found := verdicts(row.record.stages, system.stages):
            return found[-1]
    return next(iter(row.verdicts), None)


def gain(row: RunRow) -> float | None:
    """How much better than its baseline the run's first method is: above 0 is better, whatever is measured."""
    verdict = headline(row)
    if verdict is None:
        return None
    return -verdict.difference if verdict.lower_is_better else verdict.difference


def changes_text(row: RunRow) -> str:
    """`online.L=4 task.eval_size=50`; first what differs among the runs that it is shown with."""
    changes, first = row.record.changes, row.name.fields
    names = [*(name for name in first if name in changes), *(name for name in changes if name not in first)]
    return " ".join(f"{name}={value_words(changes[name])}" for name in names)


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
            found.append(f"{above}{name}={value_words(value)}")
    return found


_STATES = ("running", "paused", "hung", "interrupted", "stopped", "failed", "finished", "prepared")

VALUES: dict[str, Callable[[RunRow], Value]] = {
    "name": lambda r: r.record.name,
    "title": lambda r: r.title,
    "tag": lambda r: " ".join(r.label.tags) or None,
    "state": lambda r: r.state,
    "method": methods_text,
    "change": lambda r: changes_text(r) or None,
    "config": config_text,
    "id": lambda r: r.record.run_id,
    "result": lambda r: None if (verdict := headline(r)) is None else verdict.value,
    "gain": gain,
    "seconds": lambda r: r.seconds,
    "cost": lambda r: r.cost,
}
"""What the filter looks into, by field."""

ORDERS: dict[str, Callable[[RunRow], Value]] = {
    "state": lambda r: _STATES.index(r.state) if r.state in _STATES else len(_STATES),
    "name": lambda r: r.title.lower(),
    "difference": gain,
    "methods": methods_text,
    "changes": VALUES["change"],
    "tags": VALUES["tag"],
    "stage": lambda r: r.progress.name,
    "progress": lambda r: r.fraction,
    "eta": lambda r: None if r.time_left is None else r.time_left.whole,
    "started": lambda r: r.record.created,
    "size": lambda r: float(r.size),
    **{name: VALUES[name] for name in ("result", "seconds", "cost", "id")},
}
"""What each column is ordered by."""
