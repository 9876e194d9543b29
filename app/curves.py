"""What every chart needs, on a screen as in a report: lines, fewer points, round numbers at the axes, names apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, floor, isfinite, log10

from app.wording.text import without_controls

_LEAST = 1e-300
"""What is smaller than this is nothing: a part of it could no longer be distinguished from zero."""


@dataclass(frozen=True)
class Series:
    """A line, or single `points` drawn as `mark`. `faint`: raw values under their running mean, drawn as dim dots;
    they have no name. Of the label no control code and no line break is left."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    mark: str = ""
    points: bool = False
    faint: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "label", " ".join(without_controls(self.label).split()))


def thin(x: Sequence[float], y: Sequence[float], points: int) -> tuple[list[float], list[float]]:
    """At most about `points` points with the same outline: the lowest and highest of each stretch. Points
    that are no numbers are left out."""
    if not isfinite(sum(y)):
        x, y = _numbers(x, y)
    if len(x) <= points:
        return _numbers(x, y)
    stretches = max(1, points // 2)
    kept: list[int] = []
    for i in range(stretches):
        first, end = i * len(x) // stretches, (i + 1) * len(x) // stretches
        heights = y[first:end]
        kept += sorted({first + heights.index(min(heights)), first + heights.index(max(heights))})
    return _numbers([x[i] for i in kept], [y[i] for i in kept])


def _numbers(x: Sequence[float], y: Sequence[float]) -> tuple[list[float], list[float]]:
    pairs = [(a, b) for a, b in zip(x, y, strict=True) if isfinite(a) and isfinite(b)]
    return [a for a, _ in pairs], [b for _, b in pairs]


def ticks(values: Sequence[float], most: int) -> list[float]:
    """Round numbers that enclose `values`, at most about `most` of them."""
    low, high = min(values), max(values)
    span = (high - low) or abs(high)
    span = span if span > _LEAST else 1.0
    step = 10.0 ** floor(log10(span / most))
    step *= next(factor for factor in (1, 2, 5, 10) if span / (step * factor) <= most)
    first, last = floor(low / step), ceil(high / step)
    return [round(i * step, 10) for i in range(first, last + 1)]


def apart(places: Sequence[float], last: float, least: float) -> list[float]:
    """Places from 0 to `last` with at least `least` between them, each as near to its own as there is room: pushed
    down, and up again where they would end behind `last`. They have to have room."""
    order = sorted(range(len(places)), key=lambda i: places[i])
    moved = list(places)
    for before, here in pairwise(order):
        moved[here] = max(moved[here], moved[before] + least)
    room = last
    for i in reversed(order):
        moved[i] = min(moved[i], room)
        room = moved[i] - least
    return moved
