"""The screen of each method. A run with stages of several methods has several screens."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the states of all methods are not imported before the first paint
    from textual.screen import Screen

    from screens.run_session import Session


@dataclass(frozen=True)
class System:
    """A method: its name, its stages, and its screen, `module:Class` (imported when it is opened). `also`: stages of
    others in which it is at work, too."""

    name: str
    stages: tuple[str, ...]
    screen: str
    also: tuple[str, ...] = ()

    def load(self) -> Callable[[Session], Screen[None]]:
        """What makes the screen of a session."""
        module, _, name = self.screen.partition(":")
        kind = getattr(import_module(module), name)
        return kind if kind.TITLE_WORD else partial(kind, title=self.name)


@cache
def systems() -> tuple[System, ...]:
    """Every method that has a screen, as its state declares it."""
    from app.state.run import method_states

    kinds = method_states().values()
    return tuple(
        System(kind.title, kind.stages_shown, kind.screen, kind.also_shows) for kind in kinds if kind.title
    )


def systems_of(stages: Iterable[str]) -> list[System]:
    """The systems of a run with these stages, in the order of its first stage of each; the first of all for a run
    of none (training, stages of another package): its frame shows stages, notices and files."""
    known = dict.fromkeys(
        system
        for stage in stages
        for system in sorted(systems(), key=lambda system: stage in system.also)
        if stage in system.stages or stage in system.also
    )
    return list(known) or [systems()[0]]


def system_of(stage: str) -> System | None:
    """The system a stage belongs to."""
    return next((system for system in systems() if stage in system.stages), None)
