"""What runs are called where several are shown together: by what differs among them, `online.L=3 seed=1`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from app.wording.text import counted
from engine.comparison.fields import NO_SETTING
from engine.config.changes import differing_fields
from engine.errors import RunError
from engine.run.directory import RunDirectory, RunRecord

_SHORT = {"run.seed": "seed", "run.stages": "stages", "task.eval_split": "split"}
"""Fields that everybody knows without their section."""
_MANY_FIELDS, _MOST_FIELDS = 2, 4
"""More fields stand without their sections; still more are only counted."""
_LONGEST_VALUE = 24


@dataclass(frozen=True)
class RunName:
    """What a run is called, and the fields that differ among the runs of its experiment."""

    text: str
    fields: tuple[str, ...] = ()


UNNAMED = RunName("")


def name_runs(records: Sequence[RunRecord]) -> list[RunName]:
    """Names for runs that are shown together: the fields that differ among the runs of an experiment, with the
    experiment behind them where there are several. What is alike is distinguished by its time."""
    experiments: dict[str, list[int]] = {}
    for number, record in enumerate(records):
        experiments.setdefault(record.name, []).append(number)
    settings: dict[int, dict[str, Any]] = {}
    for numbers in experiments.values():
        settings |= zip(numbers, _settings([records[number] for number in numbers]), strict=True)
    texts = [_text(record, settings[number], len(experiments) > 1) for number, record in enumerate(records)]
    texts = _distinguished(texts, [started(record.created).removeprefix("today ") for record in records])
    texts = _distinguished(texts, [record.run_id[-4:] for record in records])
    return [RunName(text, tuple(settings[number])) for number, text in enumerate(texts)]


def names_of(paths: Sequence[Path]) -> list[str]:
    """The same of the runs in these folders; what is no run is called by its folder."""
    shown: dict[Path, RunRecord] = {}
    for path in paths:
        with suppress(RunError):
            shown[path] = RunDirectory(path).read()
    names = dict(zip(shown, name_runs(list(shown.values())), strict=True))
    return [names[path].text if path in names else folder_words(path) for path in paths]


def folder_words(run: Path) -> str:
    """`demo/20261122-165601-abb9`"""
    return f"{run.parent.name}/{run.name}"


def _settings(records: Sequence[RunRecord]) -> list[dict[str, Any]]:
    """Each run's values of the fields that all have and that differ: those that were set over the file first, the seed
    last."""
    changed = {name for record in records for name in record.changes}
    differing = differing_fields([record.config for record in records])
    names = [name for name, texts in differing.items() if all(texts) and name not in NO_SETTING]
    names.sort(key=lambda name: (name == "run.seed", name not in changed, name in _SHORT))
    return [{name: json.loads(differing[name][at]) for name in names} for at in range(len(records))]


def _text(record: RunRecord, setting: Mapping[str, Any], is_among_others: bool) -> str:
    name = record.name
    if not setting:
        return name
    parts = _parts(dict(list(setting.items())[:_MOST_FIELDS]))
    more = len(setting) - _MOST_FIELDS
    parts += [f"+{counted(more, 'fields')}"] if more > 0 else []
    return " ".join(parts) + (f" ({name})" if is_among_others else "")


def _parts(setting: Mapping[str, Any]) -> list[str]:
    """`online.L=3`; of more fields without their sections, where that says the same: `k_scale=1`."""
    names = list(map(field_name, setting))
    if len(names) > _MANY_FIELDS:
        last = [name.rpartition(".")[2] for name in names]
        names = [short if last.count(short) == 1 else name for short, name in zip(last, names, strict=True)]
    return [f"{name}={_cut(value)}" for name, value in zip(names, setting.values(), strict=True)]


def _distinguished(texts: Sequence[str], more: Sequence[str]) -> list[str]:
    """The texts, with more behind those that stand there several times."""
    count = Counter(texts)
    return [f"{text} {words}" if count[text] > 1 else text for text, words in zip(texts, more, strict=True)]


def _cut(value: Any) -> str:
    """A value that is too long: how many there are of a list, the end of a text, where paths differ."""
    text = value_words(value)
    if len(text) <= _LONGEST_VALUE:
        return text
    return counted(len(value), "values") if isinstance(value, list) else f"…{text[1 - _LONGEST_VALUE :]}"


def field_name(field: str) -> str:
    """`online.L`; `seed` for `run.seed`."""
    return _SHORT.get(field, field)


def value_words(value: Any) -> str:
    """A field's value, as short as it can be."""
    if isinstance(value, float):
        return f"{value:g}" if float(f"{value:g}") == value else str(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def setting_words(setting: Mapping[str, Any], fields: Sequence[str] | None = None) -> str:
    """`online.L=3 seed=1`; the file's own setting where nothing is swept."""
    shown = {name: value for name, value in setting.items() if fields is None or name in fields}
    return " ".join(_parts(shown)) or "as configured"


def composition_words(settings: int, runs: int, has_report: bool) -> str:
    """What runs there are, where they are not one of each setting: `4 settings × 2 seeds + 1 test run`."""
    if runs == settings and not has_report:
        return ""
    seeds, rest = divmod(runs, settings)
    each = "" if runs == settings else f" × {seeds} seeds" if not rest else f", {counted(runs, 'runs')}"
    return counted(settings, "settings") + each + (" + 1 test run" if has_report else "")


def started(created: float, now: datetime | None = None) -> str:
    """`today 14:03`, `Mar 02 14:03` this year, else with the year."""
    then, now = datetime.fromtimestamp(created), now or datetime.now()
    if then.date() == now.date():
        return f"today {then:%H:%M}"
    return f"{then:%b %d %H:%M}" if then.year == now.year else f"{then:%Y-%m-%d}"
