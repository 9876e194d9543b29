"""The only module that knows the plotting library: lines over numbers, thinned and redrawn at most 4 times a
second. The library is imported when the first chart comes into view."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, isfinite, log10
from typing import Any

from textual.app import ComposeResult
from textual.containers import Container
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static

_INTERVAL = 0.25
_FIRST_COLOUR_BLIND_SAFE = ((0, 114, 178), (230, 159, 0), (0, 158, 115), (204, 121, 167))


@dataclass(frozen=True)
class Series:
    """A line, or single `points`, and the sign they are drawn with, so that it is known without colour."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    marker: str = "braille"
    points: bool = False


class Chart(Container):
    """A chart of some series; says `empty` while there is nothing to draw."""

    DEFAULT_CSS = """
    Chart {
        & > Static { padding: 1 2; color: $text-muted; }
        & > PlotextPlot { height: 1fr; }
    }
    """

    def __init__(self, title: str, x_label: str, empty: str, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._title, self._x_label, self._empty = title, x_label, empty
        self._series: list[Series] = []
        self._drawn: list[Series] | None = None
        self._plot: Any = None
        self._timer: Timer | None = None

    def compose(self) -> ComposeResult:
        yield Static(self._empty, markup=False)

    def show_series(self, series: Sequence[Series]) -> None:
        """Draw these, soon."""
        self._series = [s for s in series if s.x]
        if self._timer is None and self.is_mounted:
            self._timer = self.set_timer(_INTERVAL, self._redraw)
            if self._drawn is None:
                self.call_later(self._redraw)

    async def _redraw(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        if self._series == self._drawn or not self.display:
            return
        self.query_one(Static).display = not self._series
        if self._plot is None and self._series:
            self._plot = await self._make()
        if self._plot is None:
            return
        self._plot.display = bool(self._series)
        self._drawn = list(self._series)
        self._fill()

    async def _make(self) -> Widget | None:
        try:
            from textual_plotext import PlotextPlot
        except ImportError:
            message = "Charts need textual-plotext: pip install textual-plotext 'plotext<6'"
            self.query_one(Static).update(message)
            self.query_one(Static).display = True
            return None
        plot = PlotextPlot()
        await self.mount(plot)
        return plot

    def on_resize(self) -> None:
        if self._plot is not None and self._series:
            self._fill()

    def _fill(self) -> None:
        plt = self._plot.plt
        plt.clear_figure()
        if self.size.height >= 12:
            plt.title(self._title)
            plt.xlabel(self._x_label)
        points = 4 * max(20, self.size.width)
        every = [(x, y) for s in self._series for x, y in zip(s.x, s.y, strict=True) if isfinite(y)]
        if every:
            across = ticks([x for x, _ in every], max(2, self.size.width // 12))
            up = ticks([y for _, y in every], max(2, self.size.height // 4))
            plt.xticks(across, [f"{x:g}" for x in across])
            plt.yticks(up, [f"{y:g}" for y in up])
            plt.ylim(min(up[0], *(y for _, y in every)), max(up[-1], *(y for _, y in every)))
        for series, colour in zip(self._series, _FIRST_COLOUR_BLIND_SAFE, strict=False):
            x, y = thin(series.x, series.y, points)
            draw = plt.scatter if series.points else plt.plot
            draw(x, y, label=series.label, marker=series.marker, color=colour)
        self._plot.refresh()


def ticks(values: Sequence[float], most: int) -> list[float]:
    """Round numbers that enclose `values`, at most about `most` of them."""
    low, high = min(values), max(values)
    span = (high - low) or abs(high) or 1.0
    step = 10.0 ** floor(log10(span / most))
    step *= next(factor for factor in (1, 2, 5, 10) if span / (step * factor) <= most)
    first, last = floor(low / step), ceil(high / step)
    return [round(i * step, 10) for i in range(first, last + 1)]


def thin(x: Sequence[float], y: Sequence[float], points: int) -> tuple[list[float], list[float]]:
    """At most about `points` points with the same outline: the lowest and highest of each stretch. Points
    that are no numbers are left out."""
    pairs = [(a, b) for a, b in zip(x, y, strict=True) if isfinite(a) and isfinite(b)]
    if len(pairs) > points:
        stretches = max(1, points // 2)
        kept: list[tuple[float, float]] = []
        for i in range(stretches):
            stretch = pairs[i * len(pairs) // stretches : (i + 1) * len(pairs) // stretches]
            low, high = min(stretch, key=_height), max(stretch, key=_height)
            kept += sorted({low, high})
        pairs = kept
    return [a for a, _ in pairs], [b for _, b in pairs]


def _height(pair: tuple[float, float]) -> float:
    return pair[1]
