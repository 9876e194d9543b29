"""What a method shows, said once. The console's screen, batch, reports, CSV files and the places of events are all
made from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic

from app.blocks.block import Block, Picture, Target
from app.methods.chart import Series
from app.methods.overview import Overview
from app.methods.place import Place
from app.methods.source import CaseSource
from app.methods.what_if import WhatIf
from app.state.columns import AppendOnlyList
from app.state.run import RunState
from app.table.column import ListColumn, T
from engine.events import Event


def _never(state: RunState, row: Any) -> bool:
    return False


@dataclass(frozen=True)
class Cases(Generic[T]):
    """A kind of case: a table with a row for each, and a case in full.

    `name`: what they are, in the plural; `event`: the type whose event a case is drawn from, at the row's `place`;
    `words`: a case in a few words, from its event; `draw`: a case in full; `notable`: whether a finished run is read
    from this row on, and what `notable_words` calls such a row; `remark`: what all rows together say; `empty`: said
    while there is none; `order`: the column by which a finished run's rows stand at first, and whether downwards;
    `steps`: how many steps a case has that can be looked at one by one.
    """

    name: str
    columns: Sequence[ListColumn[T]]
    rows: Callable[[RunState], Sequence[T] | AppendOnlyList[T]]
    event: type[Event]
    words: Callable[[Any], str]
    draw: Callable[[Any, CaseSource], list[Block]]
    empty: str
    notable: Callable[[RunState, T], bool] = _never
    notable_words: str = ""
    remark: Callable[[RunState], str] = lambda state: ""
    order: tuple[str, bool] | None = None
    steps: Callable[[T], int] | None = None


@dataclass(frozen=True)
class Chart:
    """A chart of lines: `y` and `x` are the axes' titles with their units, `series` its lines as of a state."""

    y: str
    x: str
    series: Callable[[RunState], Sequence[Series]]


class MethodPage:
    """A method's cases, results and training. A subclass gives what it has; a tab without anything is not shown.

    `title`: the method's name on the screen; `about`: what it does, for someone who meets it for the first time;
    `help`: its help page; `shown_by`: by stage, what is looked at while it works: the name of a kind of case, `results`
    or `training`; `overview`: what the overview shows of it; `event_places`: by type of event that is no case, where
    its row stands.
    """

    title: ClassVar[str]
    about: ClassVar[str] = ""
    help: ClassVar[str] = ""
    shown_by: ClassVar[Mapping[str, str]] = {}
    cases: ClassVar[Sequence[Cases[Any]]] = ()
    result_charts: ClassVar[Sequence[Chart]] = ()
    training_charts: ClassVar[Sequence[Chart]] = ()
    what_if: ClassVar[WhatIf | None] = None
    overview: ClassVar[Overview] = Overview()
    event_places: ClassVar[Mapping[type[Event], Callable[[Any], Place]]] = {}

    def results(self, state: RunState) -> list[Block]:
        """The tables that say how good the method is; everywhere. Nothing before there are any."""
        return []

    def more_results(self, state: RunState) -> list[Block]:
        """What stands below them on the screen and in reports."""
        return []

    def training(self, state: RunState) -> list[Block]:
        """How the method was trained, and the data it was trained on."""
        return []

    def pictures(self, state: RunState) -> list[Picture]:
        """Plots of the results for reports, besides the charts."""
        return []

    def place_of(self, target: Target, state: RunState) -> Place | None:
        """Where a link leads; None if it is not there."""
        return None
