"""The crosshair of a chart: a step leads to the next point, and the line below has the values there."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from textual.app import App

from app.methods.chart import Series
from screens.panels.chart_screen import ChartScreen, readout, value_at
from screens.widgets.charts.chart import Chart
from screens.widgets.charts.plot import numbered


@pytest.mark.parametrize(
    ("here", "by", "there"),
    [
        (None, 1, 0.0), (None, -1, 4.0),  # none yet: the first, or the last
        (2.0, 1, 4.0), (2.0, -1, 0.0), (4.0, 1, 4.0), (0.0, -1, 0.0),
    ],
)  # fmt: skip
def test_a_step_leads_to_the_next_point(here: float | None, by: int, there: float) -> None:
    series = [Series("a", [4.0, 0.0], [1.0, 1.0]), Series("b", [2.0, 4.0], [1.0, 1.0])]
    screen: Any = SimpleNamespace(chart=SimpleNamespace(at=here, series=series), _show=lambda: None)
    ChartScreen.action_move(screen, by)
    assert screen.chart.at == there


RISING = Series("rising", [3.0, 1.0, 2.0], [30.0, 10.0, 20.0])
BEST = Series("best", [2.0], [25.0], "★", points=True)


@pytest.mark.parametrize(
    ("x", "line", "point"),
    [(0.5, None, None), (1.0, 10.0, None), (2.0, 20.0, 25.0), (2.5, 20.0, None), (9.0, 30.0, None)],
)
def test_a_value_under_the_crosshair(x: float, line: float | None, point: float | None) -> None:
    """Of a line the last one up to there, whatever their order; of single points the one that stands there."""
    assert (value_at(RISING, x), value_at(BEST, x)) == (line, point)


def test_the_line_below_the_chart() -> None:
    """Raw values have no mark; a single point has a value only where it stands."""
    raw = Series("raw", [1.0, 2.0], [0.5, 0.25], faint=True)
    chart = Chart("tokens", "iteration")
    series = numbered([raw, RISING, BEST])
    assert readout(chart, series).plain == (
        "← → put a crosshair on the lines   raw 0.250   ● rising 20.0   ★ best 25.0"
    )
    chart.set_reactive(Chart.at, 1.5)
    assert readout(chart, series).plain == "iteration 1.5   raw 0.500   ● rising 10.0   ★ best ·"


async def test_the_next_chart_begins_without_a_crosshair() -> None:
    """`tab` after the last leads to the first; of one chart there is no next one."""
    first, second = Chart("tokens", "iteration"), Chart("accuracy, share", "n")
    first.series = [RISING]
    second.series = [Series("accuracy", [1.0, 2.0], [0.5, 0.75])]
    screen = ChartScreen([first, second], 0, lambda: None)
    seen: list[tuple[str, float | None]] = []
    async with App[None]().run_test(size=(80, 24)) as pilot:
        await pilot.app.push_screen(screen)
        for key in ("left", "tab", "right", "tab"):
            await pilot.press(key)
            await pilot.pause()
            seen.append((screen.chart.y_title, screen.chart.at))
        await pilot.press("escape")
        assert pilot.app.screen is not screen
    assert seen == [("tokens", 3.0), ("accuracy, share", None), ("accuracy, share", 1.0), ("tokens", None)]
    assert screen.check_action("next_chart", ())
    assert not ChartScreen([first], 0, lambda: None).check_action("next_chart", ())
