"""Figures and texts of a run that its row, its order and the filter share."""

from __future__ import annotations

from collections.abc import Callable

from app.runs.run_list import RunRow
from app.runs.run_names import value_words
from app.table.filter import Field, Value
from app.wording.verdict_text import method_verdict
from engine.config.changes import changed_fields
from engine.events.verdict import Verdict
from screens.systems import system_of, systems_of


def reached(row: RunRow) -> dict[str, Verdict | None]:
    """The headline of each method of a run, by its title; None where it has none yet."""
    stages = row.record.stages
    return {
        system.title: method_verdict(stages, system.stages_shown)
        for system in systems_of(stages)
        if not stages.keys().isdisjoint(system.stages_shown)
    }


def headline(row: RunRow) -> Verdict | None:
    """What a run is remembered by: the verdict of the first method that has one."""
    return next(filter(None, reached(row).values()), None) or next(iter(row.verdicts), None)


def _result(row: RunRow) -> float | None:
    verdict = headline(row)
    return None if verdict is None else verdict.value


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
    systems = {system.title: None for stage in row.record.stages if (system := system_of(stage)) is not None}
    return " ".join([*systems, *row.record.stages])


def config_text(row: RunRow) -> str:
    """The whole configuration, a `field=value` for each field."""
    fields = changed_fields({}, row.record.config)
    return " ".join(f"{name}={value_words(value)}" for name, value in fields.items())


FIELDS: tuple[tuple[Field, Callable[[RunRow], Value]], ...] = (
    (Field("name", "text", "name of the experiment"), lambda r: r.record.name),
    (Field("state", "text", "running, paused, stopped, interrupted, failed, finished or prepared"), lambda r: r.state),
    (Field("method", "text", "its methods and stages: `method~esm`"), methods_text),
    (Field("change", "text", "fields changed against the file: `change~online.L`"), lambda r: changes_text(r) or None),
    (Field("config", "text", "every field with its value: `config~gsm8k`"), config_text),
    (Field("id", "text", "id of the run"), lambda r: r.record.run_id),
    (Field("result", "number", "figure of the first method that has a result"), _result),
    (Field("gain", "number", "how much better than its baseline that is; below 0 it is worse"), gain),
    (Field("seconds", "number", "time that its stages took"), lambda r: r.seconds),
    (Field("cost", "number", "in the prices' unit"), lambda r: r.cost),
)  # fmt: skip
"""What the filter looks into."""
VALUES = {field.name: value for field, value in FIELDS}
