"""A chart of some series: drawn when they change, when its size changes, and not otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.text import Text
from textual.message import Message
from textual.widget import Widget

from app.methods.chart import Series
from screens.widgets.charts.plot import Frame, draw_plot
from screens.widgets.tones import tone

_STYLES = ("title", "axis", "faint", "point", "line-0", "line-1", "line-2", "line-3")


class Chart(Widget):
    """`y` and `x` are the axes' titles with their units. A click opens it on the whole screen."""

    DEFAULT_CSS = """
    Chart {
        padding: 0 1;
        background: $background;
    }
    """

    @dataclass
    class Opened(Message):
        """The chart was clicked."""

        chart: Chart

    def __init__(self, y: str, x: str, *, classes: str = "") -> None:
        super().__init__(classes=classes)
        self.y_title, self.x_title = y, x
        self.series: list[Series] = []

    def show_series(self, series: Sequence[Series]) -> None:
        """Draw these, unless they are drawn already."""
        series = [one for one in series if len(one.x)]
        if series != self.series:
            self.series = series
            self.refresh()

    def on_click(self) -> None:
        self.post_message(self.Opened(self))

    def render(self) -> Text:
        width, height = self.content_size
        if not self.series or width < 1 or height < 1:
            return Text()
        styles = {name: tone(self, name) for name in _STYLES}
        frame = Frame(width, height, self.y_title, self.x_title)
        return Text("\n").join(draw_plot(self.series, frame, styles))
