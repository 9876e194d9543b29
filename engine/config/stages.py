"""The stages of all methods, and the checks of a list of stages.

Beside the names that methods declare, `package.module:Class` names your own stage.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from operator import attrgetter
from typing import Any

from engine.config.config import Config
from engine.config.method import MethodSections, StageEntry
from engine.errors import Problem

STAGES: dict[str, StageEntry] = {
    entry.name: entry
    for base in reversed(Config.__mro__)
    if issubclass(base, MethodSections)
    for entry in base.stage_entries
}


def stage_problems(names: Sequence[str], where: str = "run.stages") -> list[Problem]:
    """The problems of a list of stages: unknown names, repeated names, a stage before a stage that it needs.

    A stage whose needs are not in the list is accepted: an earlier run may have left the files, and otherwise the
    stage itself reports the missing file.
    """
    problems: list[Problem] = []
    for position, name in enumerate(names):
        place = f"{where}[{position}]"
        earlier = names[:position]
        if not is_known(name):
            problems.append(Problem(place, name, known_stages(name)))
        elif name in earlier:
            problems.append(Problem(place, name, "each stage once"))
        else:
            late = [need for need in _needs(name) if need in names and need not in earlier]
            problems.extend(Problem(place, name, f"`{need}` before `{name}`") for need in late)
    return problems


def is_known(name: str) -> bool:
    """Whether `name` is a method's stage, or looks like `package.module:Class`."""
    module, colon, attribute = name.partition(":")
    is_class = (
        bool(colon) and attribute.isidentifier() and all(part.isidentifier() for part in module.split("."))
    )
    return name in STAGES or is_class


def _needs(name: str) -> tuple[str, ...]:
    return STAGES[name].needs if name in STAGES else ()


def all_needs(name: str) -> set[str]:
    """The stages that a stage rests on, directly or through others."""
    return set(_needs(name)).union(*map(all_needs, _needs(name)))


def resting_on(stage: str, names: Sequence[str]) -> list[str]:
    """`stage` and those of `names` that rest on it, in their order. What a stage of your own rests on is not known: it
    counts as resting on every stage before it."""
    before = names.index(stage)
    return [
        name
        for at, name in enumerate(names)
        if name == stage or stage in all_needs(name) or (name not in STAGES and at > before)
    ]


def stage_inputs(name: str, config: Config) -> dict[str, Any] | None:
    """The sections and fields that a stage reads, and where its work is done, with their values; None of a stage that
    does not declare them. Equal inputs and equal files of earlier stages mean equal results."""
    entry = STAGES.get(name)
    if entry is None or entry.reads is None:
        return None
    more = [
        field for switch, fields in entry.reads_if.items() if attrgetter(switch)(config) for field in fields
    ]
    return {field: attrgetter(field)(config) for field in ("scale", *entry.reads, *more)}


def known_stages(name: str) -> str:
    """The names of all stages, as text, with a guess at the stage meant by `name`."""
    close = get_close_matches(name, STAGES, n=1)
    meant = f"; did you mean `{close[0]}`?" if close else ""
    return f"one of {', '.join(STAGES)}{meant}"
