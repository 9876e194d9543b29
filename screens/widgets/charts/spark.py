"""A small curve in Braille signs, two dots across and four up in a cell: for cards, where a chart has no room."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

_DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))
"""Of the left and right column of a cell, from the top."""
_BEYOND = 1e100
"""Of two such values the difference may be infinite. A record from elsewhere may hold them."""


def spark(values: Sequence[float], width: int, height: int, holds: Sequence[float] = ()) -> list[str]:
    """`height` lines of at most `width` cells: the values from left to right, the lowest at the bottom. Values that
    are no numbers, or beyond all measure, are left out; where there are more than dots across, a column shows their
    mean, where there are fewer, lines lead from each to the next. The scale also has room for what it `holds`."""
    kept = [value for value in values if _can_be_drawn(value)]
    if not kept or width <= 0 or height <= 0:
        return [""] * max(0, height)
    across, up = 2 * width, 4 * height
    columns = _means(kept, across)
    scale = [*columns, *filter(_can_be_drawn, holds)]
    low, high = min(scale), max(scale)
    span = (high - low) or 1.0
    cells = [[0] * width for _ in range(height)]
    before: int | None = None
    for x, value in enumerate(columns):
        y = round((high - value) / span * (up - 1)) if high > low else up // 2
        first, last = sorted((y, y if before is None else before))
        for dot in range(first + (y > first), last + (y >= last)):
            cells[dot // 4][x // 2] |= _DOTS[x % 2][dot % 4]
        cells[y // 4][x // 2] |= _DOTS[x % 2][y % 4]
        before = y
    return ["".join(chr(0x2800 + cell) for cell in row) for row in cells]


def _can_be_drawn(value: float) -> bool:
    return abs(value) < _BEYOND


def _means(values: Sequence[float], columns: int) -> list[float]:
    """One value a column."""
    count = len(values)
    if count <= columns:
        return [_between(values, i * (count - 1) / (columns - 1)) for i in range(columns)]
    edges = [i * count // columns for i in range(columns + 1)]
    return [sum(values[a:b]) / (b - a) for a, b in pairwise(edges)]


def _between(values: Sequence[float], place: float) -> float:
    """On the lines between the values, which stand at 0, 1, 2, …"""
    at = int(place)
    after = values[min(at + 1, len(values) - 1)]
    return values[at] + (place - at) * (after - values[at])
