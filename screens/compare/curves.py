"""The curves of two runs in one chart, with the run's letter at each line's end."""

from __future__ import annotations

from dataclasses import replace

from app.methods.chart import Series
from app.methods.page import MethodPage
from app.methods.pages import charts_of, pages
from app.state.run import RunState
from screens.widgets.charts.chart import Chart

_Name = tuple[str, str, str]
"""Both axes' titles, and the line's label without the width of its mean."""


def overlaid(a: RunState, b: RunState, system: str) -> list[Chart]:
    """A chart for each line that a method's charts have in both runs, those of `system` first."""
    charts: list[Chart] = []
    for page in sorted(pages().values(), key=lambda page: page.title != system):
        lines, others = _lines(page, a), _lines(page, b)
        for name in (name for name in lines if name in others):
            y, x, label = name
            chart = Chart(f"{page.title}: {y}; {label}", x)
            chart.series = [_named("A", lines[name]), _named("B", others[name])]
            charts.append(chart)
    return charts


def _lines(page: MethodPage, state: RunState) -> dict[_Name, Series]:
    return {
        (y, x, line.label.partition(", mean of ")[0]): line
        for y, x, series in charts_of(page, state)
        for line in series
        if not (line.faint or line.points)
    }


def _named(letter: str, line: Series) -> Series:
    _, mean, window = line.label.partition(", mean of ")
    return replace(line, label=f"{letter}{mean}{window}")
