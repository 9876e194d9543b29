"""The pages of all methods, of other packages, too; each is imported when it is first looked at."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from app.methods.chart import Series
from app.methods.page import Cases, MethodPage
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
        return MethodPage()
    module, _, page = name.partition(":")
    return getattr(import_module(module), page)()


@cache
def cases_of_events() -> dict[type[Event], tuple[MethodPage, Cases]]:
    """By type of event: the method and the kind of case that is drawn from it."""
    return {cases.event: (page, cases) for page in pages().values() for cases in page.cases}


def charts_of(page: MethodPage, state: RunState) -> list[tuple[str, str, list[Series]]]:
    """Its charts that have something to show: titles of both axes, and the lines."""
    charts = [*page.result_charts, *page.training_charts]
    drawn = [(chart.y, chart.x, [line for line in chart.series(state) if len(line.x)]) for chart in charts]
    return [chart for chart in drawn if chart[2]]
