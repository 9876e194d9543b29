"""Which columns fit into a width, and where they stand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from rich.cells import cell_len

from screens.widgets.tables.rows import Column

C = TypeVar("C", bound=Column)

GUTTER = 2
"""Room at the left for the marks of the cursor and of matches."""
GAP = 1
_MOST = 3


@dataclass(frozen=True)
class Placed:
    """A column that is shown: its number among all, its place and width."""

    index: int
    column: Column
    x: int
    width: int


def fitted(columns: Sequence[C], key: str, texts: Iterable[str], most: int) -> list[C]:
    """The columns; the one with this key is as wide as its texts; what is above `most` only where there is room."""
    widest = max(map(cell_len, texts), default=0)
    return [
        replace(c, width=max(c.width, min(widest, most)), flex=widest > most) if c.key == key else c
        for c in columns
    ]


def place(columns: Sequence[Column], width: int) -> list[Placed]:
    """The columns that fit into `width`, in order; at least the one that matters most."""
    kept = list(enumerate(columns))
    while len(kept) > 1 and _needed(kept) > width:
        kept.remove(max(reversed(kept), key=lambda pair: pair[1].priority))
    spare = max(0, width - _needed(kept))
    flexible = [index for index, column in kept if column.flex]
    placed, x = [], GUTTER
    for index, column in kept:
        width_here = column.width
        if index in flexible:
            share = spare // (len(flexible) - flexible.index(index))
            extra = min(share, (_MOST - 1) * column.width)
            width_here, spare = width_here + extra, spare - extra
        width_here = max(1, min(width_here, width - x))
        placed.append(Placed(index, column, x, width_here))
        x += width_here + GAP
    return placed


def _needed(kept: Sequence[tuple[int, Column]]) -> int:
    return GUTTER + sum(column.width + GAP for _, column in kept) - GAP
