"""A query's pool of candidates: the injected, the replaced, and those in kept trajectories."""

from __future__ import annotations

from app.blocks.block import Block, Facts, Heading, Paragraph, Span
from app.table.column import Tone
from app.wording.figures import fixed
from engine.events import PoolQueryDone

_SIDE = 8
"""Candidates in a line: a full pool of 64 is a square."""
_INJECTED, _USED = "+", "•"


def pool_blocks(event: PoolQueryDone) -> list[Block]:
    """A line for every eight places, the legend, and what was replaced."""
    pool, injected, referenced = event.pool_after, set(event.injected), set(event.referenced)
    width = 2 + max((len(str(row)) for row in pool), default=0)

    def label(place: int) -> Span:
        """`+•3542`"""
        here, used = place in injected, place in referenced
        tone: Tone = "accent" if here else "strong" if used else "dim"
        signs = (_INJECTED if here else " ") + (_USED if used else " ")
        return Span(f"{signs}{pool[place]}".ljust(width + 1), tone)

    lines = [
        Paragraph((Span(f"{first:>2} ", "dim"), *map(label, range(first, min(first + _SIDE, len(pool))))))
        for first in range(0, len(pool), _SIDE)
    ]
    legend = (
        f"{_INJECTED} injected {len(injected)}   {_USED} in a kept trajectory {len(referenced)}; numbers: rows of "
        "the embedding table; on the left: the first place of each line"
    )
    replaced = [
        (
            f"{place}",
            (
                f"{event.pool_before[place]} → ", Span(f"{pool[place]}", "accent"),
                Span(f"   similarity {fixed(event.similarity[place])}", "dim"),
            ),
        )
        for place in event.injected
    ]  # fmt: skip
    below = [Heading("replaced, by place", 4), Facts(replaced)] if replaced else []
    return [Heading("pool", 4), *lines, Paragraph(legend, "dim"), *below]
