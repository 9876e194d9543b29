"""What a method shows, said once. The console's screen, batch, reports, CSV files and the places of events are all
made from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.blocks.block import Block, Picture, Target
from app.methods.cases import Cases
from app.methods.chart import Series
from app.methods.overview import Overview
from app.methods.place import Place
from app.methods.what_if import WhatIf
from app.state.run import RunState
from app.table.column import T
from engine.events import Event

Goal = Callable[[RunState, str], Place | None]
"""Where a link leads, by its name; None if it is not there."""


@dataclass(frozen=True)
class Chart:
    """A chart of lines: `y` and `x` are the axes' titles with their units, `series` its lines as of a state."""

    y: str
    x: str
    series: Callable[[RunState], Sequence[Series]]


def nothing(state: RunState) -> list[Any]:
    """What a method shows that says nothing of it."""
    return []


@dataclass(frozen=True, eq=False)
class MethodPage:
    """A method's cases, results and training; a tab without anything is not shown.

    `title`: the method's name on the screen; `about`: what it does, for someone who meets it for the first time;
    `help`: its help page; `shown_by`: by stage, what is looked at while it works: the name of a kind of case, `results`
    or `training`; `results`: the tables that say how good the method is, nothing before there are any; `more_results`:
    what stands below them on the screen and in reports; `training`: how it was trained, and on what data; `pictures`:
    plots of the results for reports, besides the charts; `overview`: what the overview shows of it; `links`: by kind of
    link, where it leads; `event_places`: by type of event that is no case, where its row stands.
    """

    title: str
    about: str = ""
    help: str = ""
    shown_by: Mapping[str, str] = field(default_factory=dict)
    cases: Sequence[Cases[Any]] = ()
    results: Callable[[RunState], list[Block]] = nothing
    more_results: Callable[[RunState], list[Block]] = nothing
    result_charts: Sequence[Chart] = ()
    training: Callable[[RunState], list[Block]] = nothing
    training_charts: Sequence[Chart] = ()
    pictures: Callable[[RunState], list[Picture]] = nothing
    what_if: WhatIf | None = None
    overview: Overview = field(default_factory=Overview)
    links: Mapping[str, Goal] = field(default_factory=dict)
    event_places: Mapping[type[Event], Callable[[Any], Place]] = field(default_factory=dict)

    def place_of(self, target: Target, state: RunState) -> Place | None:
        """Where a link leads; None if it is not there."""
        goal = self.links.get(target.kind)
        return None if goal is None else goal(state, target.name)


def first_row(cases: Cases[T], matches: Callable[[T, str], bool], opened: bool = True) -> Goal:
    """To the first row that `matches` the link's name; in full, or in its table."""

    def goal(state: RunState, name: str) -> Place | None:
        rows = cases.matching(state, lambda row: matches(row, name))
        return Place(cases.name, rows[0], open=opened) if rows else None

    return goal
