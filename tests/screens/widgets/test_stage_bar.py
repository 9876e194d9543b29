"""The stage strip always shows the stage at work; the small curve stays in its cells."""

from __future__ import annotations

import pytest

from screens.widgets.spark import spark
from screens.widgets.stretch import visible


@pytest.mark.parametrize("current", range(14))
@pytest.mark.parametrize("room", [5, 30, 76, 500])
def test_the_current_stage_is_always_visible(current: int, room: int) -> None:
    widths = [7, 9, 9, 7, 11, 9, 9, 12, 15, 11, 9, 7, 7, 11]
    first, last = visible(widths, current, room)
    assert first <= current < last
    if sum(widths[first:last]) > widths[current]:
        assert sum(widths[first:last]) + 4 * (room < sum(widths)) <= room
    assert (first, last) == (0, 14) or room < sum(widths)


def test_a_rising_line_goes_from_the_lower_left_to_the_upper_right() -> None:
    top, bottom = spark([0, 1, 2, 3, 4, 5, 6, 7], 4, 2)
    assert (top[0], bottom[-1]) == ("\u2800", "\u2800") and top[-1] != "\u2800" != bottom[0]
    assert len(top) == len(bottom) == 4


@pytest.mark.parametrize("values", [[], [1.0], [2.0, 2.0], [float("nan"), 1.0], [*range(1000)]])
def test_any_values_give_lines_of_the_same_width(values: list[float]) -> None:
    lines = spark(values, 10, 3)
    assert len(lines) == 3 and len({len(line) for line in lines}) == 1
