"""A chart on the whole screen: a crosshair with values, a logarithmic axis, lines shown and hidden."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
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

The arrows move the crosshair from point to point, with `shift` by a tenth of the line, `home` and `end` to its ends;
the line below the chart has the values under it. A digit hides a line or shows it again. `v` spreads values that are
no shares by their logarithm: what is not positive is left out then. `tab` goes to the next chart of the tab.
Dim dots are the raw values, the line in colour is their running mean.
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
        at = self._places()
        if not at:
            return
        here = self.chart.at
        if here is None:
            now = len(at) - 1 if by < 0 else 0
        else:  # between two points, where a line was hidden, the next one is one step away
            now = by + (bisect_left(at, here) if by < 0 else bisect_right(at, here) - 1)
        self.chart.at = at[max(0, min(now, len(at) - 1))]
        self._show()

    def action_leap(self, by: int) -> None:
        """The crosshair by tenths of the line."""
        self.action_move(by * max(1, len(self._places()) // 10))

    def action_end(self, which: int) -> None:
        """The crosshair on the first point (0) or the last one (-1)."""
        if at := self._places():
            self.chart.at = at[which]
            self._show()

    def action_log(self) -> None:
        """Spread by the logarithm, or not."""
        if not self.chart.log_axis and not any(y > 0 for one in self.chart.series for y in one.y):
            self.notify("No value is positive: there is no logarithm to draw.")
            return
        self.chart.log_axis = not self.chart.log_axis
        self._show()

    def action_line(self, number: int) -> None:
        """Hide a line, or show it again."""
        labels = _labels(self.chart.series)
        if number <= len(labels):
            hidden = self.chart.hidden ^ {labels[number - 1]}
            if len(hidden) < len(labels):
                self.chart.hidden = hidden
                self._show()

    def action_next_chart(self) -> None:
        """The tab's next chart."""
        self._at = (self._at + 1) % len(self._charts)
        self.chart.hidden, self.chart.at, self.chart.log_axis = frozenset(), None, False
        self._show()
        self.refresh_bindings()

    def action_close(self) -> None:
        """Back to the tab."""
        self.dismiss()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "log":
            return not self._charts[self._at].of_shares
        return len(self._charts) > 1 if action == "next_chart" else True

    def _places(self) -> list[float]:
        return sorted({x for one in self.chart.series if one.label not in self.chart.hidden for x in one.x})


def _labels(series: Sequence[Series]) -> list[str]:
    return list(dict.fromkeys(one.label for one in series))


def readout(chart: Chart, series: Sequence[Series]) -> Text:
    """The values under the crosshair: of each line that of its last point up to there. Hidden lines stand in
    brackets; the digit before a name hides it."""
    where = "← → put a crosshair on the lines" if chart.at is None else f"{chart.x_title} {tick(chart.at)}"
    text = Text(where, "bold")
    numbers = {label: i + 1 for i, label in enumerate(_labels(series))}
    for one in series:
        name = f"{numbers[one.label]} {'' if one.faint else one.mark + ' '}{one.label}"
        if one.label in chart.hidden:
            text.append(f"   ({name})", "dim")
            continue
        value = one.y[-1] if chart.at is None else value_at(one, chart.at)
        text.append(f"   {name} ").append(NONE if value is None else figure(value), "bold")
    return text.append("   log axis" if chart.log_axis else "")


def value_at(series: Series, x: float) -> float | None:
    """The value of the last point at or before `x`; of single points, of the one at `x`."""
    best: tuple[float, float] | None = None
    for a, b in zip(series.x, series.y, strict=True):
        if (a == x if series.points else a <= x) and (best is None or a >= best[0]):
            best = (a, b)
    return None if best is None else best[1]
