"""The methods that have a screen. A run with stages of several methods has several screens."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:  # the states of all methods are not imported before the first paint
    from app.state.method import MethodState

    System: TypeAlias = type[MethodState]
    """A method that has a screen: its state declares its name, its stages and its screen."""


@cache
def systems() -> tuple[System, ...]:
    """Every method that has a screen."""
    from app.state.run import method_states

    return tuple(kind for kind in method_states().values() if kind.title)


def systems_of(stages: Iterable[str]) -> list[System]:
    """The systems of a run with these stages, in the order of its first stage of each; the first of all for a run
    of none (training, stages of another package): its frame shows stages, notices and files."""
    known = dict.fromkeys(
        system
        for stage in stages
        for system in sorted(systems(), key=lambda system: stage in system.also_shows)
        if stage in system.stages_shown or stage in system.also_shows
    )
    return list(known) or [systems()[0]]


def system_of(stage: str) -> System | None:
    """The system a stage belongs to."""
    return next((system for system in systems() if stage in system.stages_shown), None)
