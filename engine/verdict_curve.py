"""The curve behind a verdict: how its figure moved over the work, in few points."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate, pairwise

MOST = 48
"""Points of a curve: they draw a line of 24 characters, and stand in the run's record and log."""


def thinned(values: Iterable[float]) -> list[float]:
    """At most MOST points: each the mean of its stretch."""
    all_values = list(values)
    count = min(MOST, len(all_values))
    edges = [i * len(all_values) // count for i in range(count + 1)] if count else [0]
    stretches = (all_values[first:last] for first, last in pairwise(edges))
    return [float(f"{sum(stretch) / len(stretch):.4g}") for stretch in stretches]


def running(values: Iterable[float]) -> list[float]:
    """The mean of all values so far, after each of them, thinned."""
    return thinned(total / count for count, total in enumerate(accumulate(values), 1))
