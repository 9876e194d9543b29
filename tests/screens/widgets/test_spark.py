"""Small curves: what is drawn of any numbers at all."""

from __future__ import annotations

from math import inf, nan

import pytest

from screens.widgets.charts.spark import spark


def test_a_line_through_few_values_is_that_through_many() -> None:
    """Eight columns of dots and eight rows: one dot in each, from the lower left to the upper right."""
    assert spark([0, 1, 2, 3, 4, 5, 6, 7], 4, 2) == ["\u2800\u2800⡠⠊", "⡠⠊\u2800\u2800"]
    assert spark([0, 7], 4, 2) == spark([0, 3.5, 7], 4, 2) == spark(range(8), 4, 2)
    assert spark([5, 5], 1, 1) == ["⠤"], "what never changes lies in the middle"


def test_of_many_values_a_column_is_their_mean() -> None:
    """Twelve in four columns: 2, 6, 9, 9, of rows from 0 at the top: 2 (2.33), 1, 0, 0."""
    assert spark([1, 2, 3, 5, 6, 7, *[9] * 6], 2, 1, (0, 9)) == spark([2, 6, 9, 9], 2, 1, (0, 9)) == ["⠔⠉"]


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
