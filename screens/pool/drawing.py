"""A query's pool as a grid of 8x8 candidates: the injected, the replaced, and those in kept trajectories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Group, RenderableType
from rich.style import Style
from rich.table import Table
from rich.text import Text

from app.figures import fixed
from engine.events import PoolQueryDone
from screens.widgets.thumbnail import thumbnail

Palette = dict[str, Style]
Pictures = Mapping[int, tuple[str, int]]
"""By row of the table: its pixels, and how many of them make a line."""

SIDE = 8
INJECTED, REFERENCED = "+", "•"
_GUTTER = 3
_PICTURE = 8


def draw_pool(event: PoolQueryDone, pictures: Pictures, palette: Palette, width: int) -> RenderableType:
    """Grid, legend, and what was replaced; candidates are drawn where there are `pictures`."""
    parts: list[RenderableType] = [
        Text.assemble(("pool", palette["heading"])),
        *_grid(event, pictures, palette, width),
        _legend(event, palette),
    ]
    if event.injected:
        title = Text.assemble(("replaced", palette["heading"]))
        parts += [Text(), title, _replaced(event, pictures, palette, width)]
    return Group(*parts)


def _grid(event: PoolQueryDone, pictures: Pictures, palette: Palette, width: int) -> list[Text]:
    """A line of labels, then the pictures' lines, for every eight places, or four where eight do not fit."""
    cell = max(_PICTURE if pictures else 0, 2 + max((len(str(row)) for row in event.pool_after), default=0))
    abreast = SIDE if _GUTTER + SIDE * (cell + 1) - 1 <= width else SIDE // 2
    injected, referenced = set(event.injected), set(event.referenced)
    lines: list[Text] = []
    for first in range(0, len(event.pool_after), abreast):
        rows = event.pool_after[first : first + abreast]
        line = Text(f"{first:>2} ", palette["dim"])
        for place, row in enumerate(rows, first):
            line.append_text(_label(row, place in injected, place in referenced, cell, palette)).append(" ")
        lines.append(line)
        lines += _picture_lines(rows, pictures, cell)
    return lines


def _label(row: int, injected: bool, referenced: bool, cell: int, palette: Palette) -> Text:
    """`+•3542`"""
    signs = (INJECTED if injected else " ") + (REFERENCED if referenced else " ")
    tone = "accent" if injected else "strong" if referenced else "dim"
    return Text(f"{signs}{row}".ljust(cell), palette[tone])


def _picture_lines(rows: Sequence[int], pictures: Pictures, cell: int) -> list[Text]:
    if not pictures:
        return []
    drawn = [thumbnail(*pictures[row]) if row in pictures else () for row in rows]
    lines: list[Text] = []
    for number in range(max(map(len, drawn))):
        line = Text(" " * _GUTTER)
        for picture in drawn:
            line.append_text(padded(picture[number] if number < len(picture) else Text(), cell)).append(" ")
        lines.append(line)
    return lines


def padded(text: Text, width: int) -> Text:
    """A copy with blanks up to `width`."""
    room = width - text.cell_len
    return text.copy().append(" " * room) if room > 0 else text.copy()


def _legend(event: PoolQueryDone, palette: Palette) -> Text:
    text = Text(style=palette["dim"])
    text.append(INJECTED, palette["accent"]).append(f" injected {len(event.injected)}   ")
    text.append(REFERENCED, palette["strong"]).append(f" in a kept trajectory {len(event.referenced)}")
    return text.append("\nnumbers: rows of the embedding table; on the left: the first place of each line")


def _replaced(event: PoolQueryDone, pictures: Pictures, palette: Palette, width: int) -> RenderableType:
    """The old and the new row of each place; beside each other as many as fit."""
    blocks = [_replacement(event, place, pictures, palette) for place in event.injected]
    abreast = max(1, width // 26) if pictures else 1
    grid = Table.grid(padding=(0, 3, 0, 0))
    for first in range(0, len(blocks), abreast):
        grid.add_row(*blocks[first : first + abreast])
    return grid


def _replacement(event: PoolQueryDone, place: int, pictures: Pictures, palette: Palette) -> Text:
    old, new = event.pool_before[place], event.pool_after[place]
    text = Text.assemble((f"{place:>2} ", palette["dim"]), f"{old} → ", (f"{new}", palette["accent"]))
    if not pictures:
        return text.append(f"   similarity {fixed(event.similarity[place])}", palette["dim"])
    left, right = (thumbnail(*pictures[row]) if row in pictures else () for row in (old, new))
    for number in range(max(len(left), len(right))):
        text.append("\n" + " " * _GUTTER).append_text(
            padded(left[number] if number < len(left) else Text(), _PICTURE)
        )
        text.append(" → " if number == 1 else "   ").append_text(
            right[number] if number < len(right) else Text()
        )
    return text
