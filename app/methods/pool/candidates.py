"""A query's pool as a grid of 8x8 candidates: the injected, the replaced, and those in kept trajectories."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from app.blocks.block import Block, Drawn, Palette, facts
from app.wording.figures import fixed
from engine.events import PoolQueryDone

SIDE = 8
INJECTED, REFERENCED = "+", "•"
_GUTTER = 3


class Candidates(Drawn):
    """The grid, its legend, and what was replaced."""

    def __init__(self, event: PoolQueryDone) -> None:
        self._event = event

    def draw(self, palette: Palette, width: int) -> RenderableType:
        event = self._event
        parts: list[RenderableType] = [
            Text("pool", palette["heading"]),
            *_grid(event, palette, width),
            _legend(event, palette),
        ]
        if event.injected:
            parts += [Text(), Text("replaced", palette["heading"]), _replaced(event, palette)]
        return Group(*parts)

    def in_documents(self) -> Sequence[Block]:
        event = self._event
        replaced = (f"{event.pool_before[at]} → {event.pool_after[at]}" for at in event.injected)
        return [
            facts(
                [
                    ("rows of the pool", ", ".join(map(str, event.pool_after))),
                    ("replaced", ", ".join(replaced)),
                    ("in a kept trajectory", str(len(event.referenced))),
                ]
            )
        ]


def _grid(event: PoolQueryDone, palette: Palette, width: int) -> list[Text]:
    """A line of labels for every eight places, or four where eight do not fit."""
    cell = 2 + max((len(str(row)) for row in event.pool_after), default=0)
    abreast = SIDE if _GUTTER + SIDE * (cell + 1) - 1 <= width else SIDE // 2
    injected, referenced = set(event.injected), set(event.referenced)
    lines: list[Text] = []
    for first in range(0, len(event.pool_after), abreast):
        rows = event.pool_after[first : first + abreast]
        labels = Text(f"{first:>2} ", palette["dim"])
        for place, row in enumerate(rows, first):
            labels.append_text(_label(row, place in injected, place in referenced, cell, palette)).append(" ")
        lines.append(labels)
    return lines


def _label(row: int, injected: bool, referenced: bool, cell: int, palette: Palette) -> Text:
    """`+•3542`"""
    signs = (INJECTED if injected else " ") + (REFERENCED if referenced else " ")
    tone = "accent" if injected else "strong" if referenced else "dim"
    return Text(f"{signs}{row}".ljust(cell), palette[tone])


def _legend(event: PoolQueryDone, palette: Palette) -> Text:
    text = Text(style=palette["dim"])
    text.append(INJECTED, palette["accent"]).append(f" injected {len(event.injected)}   ")
    text.append(REFERENCED, palette["strong"]).append(f" in a kept trajectory {len(event.referenced)}")
    return text.append("\nnumbers: rows of the embedding table; on the left: the first place of each line")


def _replaced(event: PoolQueryDone, palette: Palette) -> Text:
    """A line for each place: the old row, the new one, and how similar that is to the query."""
    return Text("\n").join(
        Text.assemble(
            (f"{place:>2} ", palette["dim"]),
            f"{event.pool_before[place]} → ",
            (f"{event.pool_after[place]}", palette["accent"]),
            (f"   similarity {fixed(event.similarity[place])}", palette["dim"]),
        )
        for place in event.injected
    )
