"""The pages of all methods, of other packages, too; each is imported when it is first looked at."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

from app.methods.cases import Cases
from app.methods.chart import Series
from app.methods.page import MethodPage
from app.methods.source import CaseSource
from app.methods.what_if import Choice, WhatIf
from app.state.run import RunState, method_states
from engine.events import Event


@cache
def pages() -> dict[str, MethodPage]:
    """By the method's title, in the order of their states."""
    return {kind.title: page_of(kind.title) for kind in method_states().values() if kind.page}


@cache
def page_of(title: str) -> MethodPage:
    """The page of one method; an empty one where it has none."""
    name = next((kind.page for kind in method_states().values() if kind.title == title), "")
    if not name:
        return MethodPage(title)
    module, _, page = name.partition(":")
    return getattr(import_module(module), page)


@cache
def cases_of_events() -> dict[type[Event], tuple[MethodPage, Cases]]:
    """By type of event: the method and the kind of case that is drawn from it."""
    known = [(page, cases) for page in pages().values() for cases in page.cases]
    return {kind: (page, cases) for page, cases in known for kind in (cases.event, *cases.also)}


@cache
def choices_of_events() -> dict[type[Event], tuple[WhatIf, Callable[[Any, CaseSource], Choice | str]]]:
    """By type of event: what another choice can be tried in its place."""
    what_ifs = [page.what_if for page in pages().values() if page.what_if]
    return {kind: (what_if, choice) for what_if in what_ifs for kind, choice in what_if.of.items()}


def offered(page: MethodPage, state: RunState) -> list[str]:
    """The kinds of cases and the tabs that may have something to show: all of them where a stage of the method is in
    the run; else what the stages in the run show."""
    names = [*(cases.name for cases in page.cases), "results", "training"]
    stages = next(kind.stages_shown for kind in method_states().values() if kind.title == page.title)
    guests = [shown for stage, shown in page.shown_by.items() if stage in state.stages]
    return guests if guests and state.stages.keys().isdisjoint(stages) else names


def charts_of(page: MethodPage, state: RunState) -> list[tuple[str, str, list[Series]]]:
    """Its charts that have something to show: titles of both axes, and the lines."""
    charts = [*page.result_charts, *page.training_charts]
    drawn = [(chart.y, chart.x, [line for line in chart.series(state) if len(line.x)]) for chart in charts]
    return [chart for chart in drawn if chart[2]]
