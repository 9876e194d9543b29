"""The crosshair of a chart: a step leads to the next point, also from where a line was hidden."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from app.methods.chart import Series
from screens.panels.chart_screen import ChartScreen


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
