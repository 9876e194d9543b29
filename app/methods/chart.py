"""Lines of charts that jump, with a running mean, and the signs that distinguish lines without colour."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from app.curves import Series

MARKS = "●▲■◆○△□▽"
"""The signs of a chart's lines, in their order: they distinguish lines without colour."""
_WINDOWS, _NARROWEST = 20, 3


def with_mean(label: str, x: Sequence[float], y: Sequence[float]) -> list[Series]:
    """A line that jumps: faint, and above it the mean of each point and those before it, over a 20th of the line."""
    window = len(y) // _WINDOWS
    if window < _NARROWEST:
        return [Series(label, x, y)]
    return [Series(label, x, y, faint=True), Series(f"{label}, mean of {window}", x, running_mean(y, window))]


def running_mean(y: Sequence[float], window: int) -> list[float]:
    """The mean of each value and the `window` − 1 before it; values that are no numbers do not count."""
    means, total, count = [], 0.0, 0
    for i, value in enumerate(y):
        if isfinite(value):
            total, count = total + value, count + 1
        if i >= window and isfinite(y[i - window]):
            total, count = total - y[i - window], count - 1
        means.append(total / count if count else float("nan"))
    return means
