"""Which simpler method is as good: the interval's two ends, the order of several, and methods that do not help."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from engine.closest import with_closest
from engine.events.verdict import Closest, Verdict

VERDICT = Verdict(
    method="esm", baseline="greedy", metric="accuracy", n=100, value=0.9, baseline_value=0.6, difference=0.3,
    low=0.2, high=0.4,
)  # fmt: skip


def simple(difference: float, low: float, high: float, method: str = "simple", **more: Any) -> Closest:
    return Closest(
        method=method, n=100, value=0.9 + difference, difference=difference, low=low, high=high, **more
    )


def chosen(*simpler: Closest) -> str | None:
    closest = with_closest(VERDICT, simpler).closest
    return None if closest is None else closest.method


@pytest.mark.parametrize(
    ("low", "high", "as_good"),
    [(-0.05, 0.01, True), (-0.05, 0.0, True), (-0.05, -0.01, False), (0.01, 0.05, True)],
)
def test_as_good_is_what_is_not_shown_to_be_worse(low: float, high: float, as_good: bool) -> None:
    assert (chosen(simple((low + high) / 2, low, high)) == "simple") is as_good


@pytest.mark.parametrize(
    ("low", "high", "as_good"), [(-3.0, 1.0, True), (0.0, 3.0, True), (0.5, 3.0, False), (-3.0, -1.0, True)]
)
def test_where_lower_is_better(low: float, high: float, as_good: bool) -> None:
    assert (chosen(simple((low + high) / 2, low, high, lower_is_better=True)) == "simple") is as_good


def test_the_highest_figure_comes_closest_and_of_equal_ones_the_cheapest() -> None:
    near = simple(-0.01, -0.03, 0.01, "near", tokens=10.0)
    equal, dear = simple(0.0, -0.02, 0.02, "equal", tokens=80.0), simple(0.0, 0.0, 0.0, "dear", tokens=90.0)
    unknown = simple(0.0, 0.0, 0.0, "unknown")
    assert chosen(near, unknown, dear, equal) == "equal"
    assert chosen(near, unknown, dear) == "dear", "what costs nobody knows how much comes last"
    assert chosen(near) == "near" and chosen() is None


def test_where_lower_is_better_the_lowest_figure_comes_closest() -> None:
    more, less = (simple(d, -3.0, 3.0, str(d), lower_is_better=True) for d in (1.0, -1.0))
    assert chosen(more, less) == "-1.0"


@pytest.mark.parametrize(
    ("low", "high", "difference"), [(-0.1, 0.4, 0.1), (-0.4, -0.1, -0.2), (0.0, 0.4, 0.2)]
)
def test_a_method_that_is_not_shown_to_help_has_none(low: float, high: float, difference: float) -> None:
    """Then its baseline is as good."""
    verdict = replace(VERDICT, difference=difference, low=low, high=high)
    assert with_closest(verdict, [simple(0.0, 0.0, 0.0)]) == verdict


@pytest.mark.parametrize(("lower", "better"), [(False, [False, False, True]), (True, [True, False, False])])
def test_a_method_with_the_baseline_s_figure_is_not_ahead_of_it(lower: bool, better: list[bool]) -> None:
    """Another is, shown or not."""
    verdicts = [
        replace(VERDICT, lower_is_better=lower, difference=one, low=one - 0.2, high=one + 0.2)
        for one in (-0.1, 0.0, 0.1)
    ]
    assert [verdict.better for verdict in verdicts] == better


def test_what_is_equal_and_what_is_better() -> None:
    assert simple(0.0, -0.1, 0.1).equal and not simple(0.0, -0.1, 0.1).better
    assert simple(0.1, 0.05, 0.2).better and not simple(0.1, 0.05, 0.2).equal
    assert not simple(0.1, 0.0, 0.2).better
    assert simple(-2.0, -3.0, -1.0, lower_is_better=True).better
    assert not simple(2.0, 1.0, 3.0, lower_is_better=True).better
