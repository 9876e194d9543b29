"""Cells that all methods' tables have: an outcome, what was turned, a difference with the interval it lies in."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any

from app.blocks.block import Span, Target
from app.table.column import Cell, Tone
from app.wording.figures import NONE, bounds, fixed, interval, outcome, signed

TURNED = {1: Cell("▲", "good"), -1: Cell("▼", "bad")}


DIFFERENCE = ("difference", "difference_low", "difference_high")
"""The attributes of a difference and of its interval, as most events call them."""


def outcome_cell(correct: bool | None) -> Cell:
    """✓ right, ✗ wrong, · not known."""
    return Cell(outcome(correct), "dim" if correct is None else "good" if correct else "bad")


def turned_cell(sign: int) -> Cell:
    """▲ turned right, ▼ turned wrong; blank where nothing was."""
    return TURNED.get(sign, Cell(" "))


def difference_cell(
    value: float | None, low: float | None, high: float | None, digits: int = 3, lower_is_better: bool = False
) -> Cell:
    """`+0.120`: good or bad where its interval lies on one side of 0."""
    if value is None or low is None or high is None or low <= 0 <= high:
        return Cell(signed(value, digits), "dim" if value is None else "")
    return Cell(signed(value, digits), "good" if (high < 0) == lower_is_better else "bad")


def difference_of(*names: str, digits: int = 3, lower_is_better: bool = False) -> Callable[[Any], Cell]:
    """Shows the difference in three attributes of a row: the value and both ends of its interval."""
    attributes = attrgetter(*names)
    return lambda row: difference_cell(*attributes(row), digits=digits, lower_is_better=lower_is_better)


def interval_of(value: str, low: str, high: str, digits: int = 3) -> Callable[[Any], str]:
    """The interval of a difference, from the same three attributes; none where there is no difference."""
    attributes = attrgetter(value, low, high)

    def shown(row: Any) -> str:
        difference, start, end = attributes(row)
        return NONE if difference is None else interval(start, end, digits)

    return shown


def bounds_of(low: str, high: str) -> Callable[[Any], str]:
    """The interval of a value, from two attributes of a row."""
    ends = attrgetter(low, high)
    return lambda row: bounds(*ends(row))


Count = tuple[int, str, Tone, Target]
"""How many, the words that say it, and where they lead."""


def linked_counts(counts: Iterable[Count], between: str = "  ") -> list[str | Span]:
    """Those that are not zero; each leads to the first of what it counts."""
    words: list[str | Span] = []
    for count, text, tone, target in counts:
        if count:
            words += [between, Span(text, tone, target)] if words else [Span(text, tone, target)]
    return words


def digits(count: int) -> Callable[[float | None], str]:
    """Shows a figure with so many digits behind the point."""
    return lambda value: fixed(value, count)
