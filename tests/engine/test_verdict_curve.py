"""The few points that a run keeps of how its figure moved."""

from __future__ import annotations

import pytest

from engine.verdict_curve import MOST, running, thinned


def test_few_values_are_kept_and_many_become_means_of_equal_stretches() -> None:
    assert thinned([]) == [] and thinned([3, 1.23456]) == [3.0, 1.235]
    assert thinned(range(10 * MOST)) == pytest.approx([10 * i + 4.5 for i in range(MOST)])
    assert len(thinned(range(MOST + 1))) == MOST
    assert MOST == 48, "two points to each of the 24 characters of a line"


def test_a_running_mean_ends_with_the_mean() -> None:
    assert running([True, False, False, True]) == [1.0, 0.5, 0.3333, 0.5]
