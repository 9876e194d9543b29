"""Small curves: what is drawn of any numbers at all."""

from __future__ import annotations

from math import inf, nan

import pytest

from screens.widgets.charts.spark import spark


def test_a_rising_line_goes_from_the_lower_left_to_the_upper_right() -> None:
    top, bottom = spark([0, 1, 2, 3, 4, 5, 6, 7], 4, 2)
    assert (top[0], bottom[-1]) == ("\u2800", "\u2800") and top[-1] != "\u2800" != bottom[0]
    assert len(top) == len(bottom) == 4


@pytest.mark.parametrize("values", [[], [1.0], [2.0, 2.0], [float("nan"), 1.0], [*range(1000)]])
def test_any_values_give_lines_of_the_same_width(values: list[float]) -> None:
    lines = spark(values, 10, 3)
    assert len(lines) == 3 and len({len(line) for line in lines}) == 1


@pytest.mark.parametrize("odd", [nan, inf, -inf, 1e308, -1e308])
def test_what_cannot_be_drawn_is_left_out_of_curve_and_scale(odd: float) -> None:
    """The difference of two such numbers is infinite, and ended the list of runs."""
    plain = spark([1.0, 2.0, 3.0], 5, 1)
    assert spark([1.0, odd, 2.0, 3.0], 5, 1) == plain
    assert spark([1.0, 2.0, 3.0], 5, 1, (odd,)) == plain
    assert spark([odd, -odd], 5, 1) == [""]


def test_the_scale_has_room_for_what_it_holds() -> None:
    assert spark([2.0], 1, 1) == spark([2.0], 1, 1, (2.0,)) != spark([2.0], 1, 1, (1.0,))
    assert spark([2.0], 1, 1, (1.0,)) == ["\N{BRAILLE PATTERN DOTS-14}"]
    assert spark([2.0], 1, 1, (3.0,)) == ["\N{BRAILLE PATTERN DOTS-78}"]
