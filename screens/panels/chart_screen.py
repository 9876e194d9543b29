"""A chart on the whole screen, with the values under a crosshair."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.getters import query_one
from textual.widgets import Static

from app.keys.commands import CHART, bindings
from app.methods.chart import Series
from app.wording.figures import NONE, figure, tick
from screens.console_screen import ConsoleScreen
from screens.widgets.charts.chart import Chart
from screens.widgets.charts.plot import numbered
from screens.widgets.key_line import KeyLine

_LOOK_EVERY = 0.5


class ChartScreen(ConsoleScreen[None]):
    """Shows one of `charts` after the other. `look` has them take in what is new in the log."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(CHART)
    DEFAULT_CSS = """
    ChartScreen {
        background: $background;
        & > Chart { height: 1fr; }
        & > #chart-values { height: auto; padding: 0 1; background: $panel; }
    }
    """
    HELP = """\
# A chart

The arrows move the crosshair from point to point; the line below the chart has the values under it. `tab` goes to the
next chart of the tab. Dim dots are the raw values, the line in colour is their running mean.
"""

    chart = query_one("#chart-whole", Chart)
    values = query_one("#chart-values", Static)

    def __init__(self, charts: Sequence[Chart], at: int, look: Callable[[], None]) -> None:
        super().__init__()
        self._charts, self._at, self._look = charts, at, look

    def compose_content(self) -> ComposeResult:
        source = self._charts[self._at]
        yield Chart(source.y_title, source.x_title, id="chart-whole")
        yield Static(id="chart-values", markup=False)
        yield KeyLine()

    def on_mount(self) -> None:
        self._show()
        self.set_interval(_LOOK_EVERY, self._look_again)

    def _look_again(self) -> None:
        if self.app.screen is self:
            self._look()
            self._show()

    def _show(self) -> None:
        source = self._charts[self._at]
        self.chart.y_title, self.chart.x_title = source.y_title, source.x_title
        self.chart.show_series(source.series)
        self.values.update(readout(self.chart, numbered(self.chart.series)))

    # ------------------------------------------------------------ keys

    def action_move(self, by: int) -> None:
        """Put the crosshair on another point; where there is none yet, on the last or first one."""
        at = sorted({x for one in self.chart.series for x in one.x})
        if not at:
            return
        if self.chart.at is None:
            now = len(at) - 1 if by < 0 else 0
        else:
            now = bisect_left(at, self.chart.at) + by
        self.chart.at = at[max(0, min(now, len(at) - 1))]
        self._show()

    def action_next_chart(self) -> None:
        """The tab's next chart."""
        self._at = (self._at + 1) % len(self._charts)
        self.chart.at = None
        self._show()

    def action_close(self) -> None:
        """Back to the tab."""
        self.dismiss()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return len(self._charts) > 1 if action == "next_chart" else True


def readout(chart: Chart, series: Sequence[Series]) -> Text:
    """The values under the crosshair: of each line that of its last point up to there."""
    where = "← → put a crosshair on the lines" if chart.at is None else f"{chart.x_title} {tick(chart.at)}"
    text = Text(where, "bold")
    for one in series:
        name = one.label if one.faint else f"{one.mark} {one.label}"
        value = one.y[-1] if chart.at is None else value_at(one, chart.at)
        text.append(f"   {name} ").append(NONE if value is None else figure(value), "bold")
    return text


def value_at(series: Series, x: float) -> float | None:
    """The value of the last point at or before `x`; of single points, of the one at `x`."""
    best: tuple[float, float] | None = None
    for a, b in zip(series.x, series.y, strict=True):
        if (a == x if series.points else a <= x) and (best is None or a >= best[0]):
            best = (a, b)
    return None if best is None else best[1]
