"""The crosshair of a chart: a step leads to the next point, also from where a line was hidden."""

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
        (1.0, 1, 2.0), (1.0, -1, 0.0),  # between two points: its line is hidden
    ],
)  # fmt: skip
def test_a_step_leads_to_the_next_point(here: float | None, by: int, there: float) -> None:
    screen: Any = SimpleNamespace(
        _places=lambda: [0.0, 2.0, 4.0], chart=SimpleNamespace(at=here), _show=lambda: None
    )
    ChartScreen.action_move(screen, by)
    assert screen.chart.at == there


@pytest.mark.parametrize(("points", "by", "moved"), [(40, 1, 4), (40, -1, -4), (9, 1, 1), (200, -1, -20)])
def test_shift_leaps_a_tenth_of_the_points(points: int, by: int, moved: int) -> None:
    moves: list[int] = []
    screen: Any = SimpleNamespace(_places=lambda: list(range(points)), action_move=moves.append)
    ChartScreen.action_leap(screen, by)
    assert moves == [moved]


@pytest.mark.parametrize(
    ("hidden", "number", "then"),
    [
        ("", 1, "a"), ("a", 2, "ab"), ("a", 1, ""), ("ab", 3, "ab"), ("ab", 2, "a"), ("", 4, ""),
    ],
)  # fmt: skip
def test_a_digit_hides_a_line_or_shows_it_and_one_stays(hidden: str, number: int, then: str) -> None:
    """Of three lines two can be hidden; a line of dots and its mean have one name and one digit."""
    series = [
        Series(label, [0], [1.0], faint=faint)
        for label, faint in (("a", True), ("a", False), ("b", False), ("c", False))
    ]
    screen: Any = SimpleNamespace(
        chart=SimpleNamespace(series=series, hidden=frozenset(hidden)), _show=lambda: None
    )
    ChartScreen.action_line(screen, number)
    assert screen.chart.hidden == frozenset(then)


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
    """A mean and its raw values have one name; a hidden line stands in brackets, without its value."""
    raw = Series("raw", [1.0, 2.0], [0.5, 0.25], faint=True)
    chart = Chart("tokens", "iteration")
    series = numbered([raw, RISING, BEST])
    assert readout(chart, series).plain == (
        "← → put a crosshair on the lines   1 raw 0.250   2 ● rising 20.0   3 ★ best 25.0"
    )
    chart.set_reactive(Chart.at, 1.5)
    chart.set_reactive(Chart.hidden, frozenset({"rising"}))
    chart.set_reactive(Chart.log_axis, True)
    assert (
        readout(chart, series).plain == "iteration 1.5   1 raw 0.500   (2 ● rising)   3 ★ best ·   log axis"
    )


async def test_keys_of_a_chart() -> None:
    """The ends, the logarithm (not of shares, nor of what is not positive), and the next chart, which begins anew."""
    first, second = Chart("tokens", "iteration"), Chart("accuracy, share", "n")
    first.series = [RISING]
    second.series = [Series("accuracy", [1.0, 2.0], [0.5, 0.75])]
    below = Chart("gain", "n")
    below.series = [Series("gain", [1.0, 2.0], [-1.0, 0.0])]
    screen = ChartScreen([first, second, below], 0, lambda: None)
    seen: list[tuple[str, float | None, bool, bool]] = []
    async with App[None]().run_test(size=(80, 24)) as pilot:
        await pilot.app.push_screen(screen)
        for key in ("end", "home", "v", "1", "tab", "v", "tab", "v", "tab"):
            await pilot.press(key)
            await pilot.pause()
            chart = screen.chart
            seen.append((chart.y_title, chart.at, chart.log_axis, bool(screen.check_action("log", ()))))
        told = [note.message for note in pilot.app._notifications]
        await pilot.press("escape")
        assert pilot.app.screen is not screen
    assert seen == [
        ("tokens", 3.0, False, True),
        ("tokens", 1.0, False, True),
        ("tokens", 1.0, True, True),
        ("tokens", 1.0, True, True),
        ("accuracy, share", None, False, False),
        ("accuracy, share", None, False, False),
        ("gain", None, False, True),
        ("gain", None, False, True),
        ("tokens", None, False, True),
    ]
    assert told == ["No value is positive: there is no logarithm to draw."]
