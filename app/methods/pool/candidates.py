"""A query's pool as a grid of 8x8 candidates: the injected, the replaced, and those in kept trajectories."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from app.blocks.block import Block, Drawn, Palette, Paragraph, Words, facts
from app.blocks.terminal import line
from app.blocks.thumbnail import thumbnail
from app.methods.source import CaseSource
from app.wording.figures import fixed
from engine.events import PoolQueryDone, PoolThumbnails

Pictures = Mapping[int, tuple[str, int]]
"""By row of the table: its pixels, and how many of them make a line."""

SIDE = 8
INJECTED, REFERENCED = "+", "•"
WITH_PICTURES = 76
"""Columns from which candidates are drawn as pictures."""
_GUTTER = 3
_PICTURE = 8


def pictures_of(source: CaseSource, rows: Iterable[int]) -> Pictures:
    """The pictures of those `rows` that the log has."""
    places = source.state.pool.pictures
    pictures: dict[int, tuple[str, int]] = {}
    for row in rows:
        if row not in pictures and row in places:
            event = source.at(places[row], PoolThumbnails)
            if event is not None:
                pictures.update((int(name), (pixels, event.width)) for name, pixels in event.pixels.items())
    return pictures


class Candidates(Drawn):
    """The grid, its legend, and what was replaced; candidates are drawn where there are `pictures`."""

    def __init__(self, event: PoolQueryDone, pictures: Pictures) -> None:
        self._event, self._pictures = event, pictures

    def draw(self, palette: Palette, width: int) -> RenderableType:
        event, pictures = self._event, self._pictures if width >= WITH_PICTURES else {}
        parts: list[RenderableType] = [
            Text("pool", palette["heading"]),
            *_grid(event, pictures, palette, width),
            _legend(event, palette),
        ]
        if event.injected:
            parts += [
                Text(),
                Text("replaced", palette["heading"]),
                _replaced(event, pictures, palette, width),
            ]
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


def _grid(event: PoolQueryDone, pictures: Pictures, palette: Palette, width: int) -> list[Text]:
    """A line of labels, then the pictures' lines, for every eight places, or four where eight do not fit."""
    cell = max(_PICTURE if pictures else 0, 2 + max((len(str(row)) for row in event.pool_after), default=0))
    abreast = SIDE if _GUTTER + SIDE * (cell + 1) - 1 <= width else SIDE // 2
    injected, referenced = set(event.injected), set(event.referenced)
    lines: list[Text] = []
    for first in range(0, len(event.pool_after), abreast):
        rows = event.pool_after[first : first + abreast]
        labels = Text(f"{first:>2} ", palette["dim"])
        for place, row in enumerate(rows, first):
            labels.append_text(_label(row, place in injected, place in referenced, cell, palette)).append(" ")
        lines.append(labels)
        lines += [Text(" " * _GUTTER).append_text(line) for line in _abreast(rows, pictures, cell)]
    return lines


def _label(row: int, injected: bool, referenced: bool, cell: int, palette: Palette) -> Text:
    """`+•3542`"""
    signs = (INJECTED if injected else " ") + (REFERENCED if referenced else " ")
    tone = "accent" if injected else "strong" if referenced else "dim"
    return Text(f"{signs}{row}".ljust(cell), palette[tone])


def _abreast(rows: Iterable[int], pictures: Pictures, cell: int) -> list[Text]:
    """The lines of the rows' pictures beside each other, each `cell` wide; blank for a row without one."""
    drawn = [thumbnail(*pictures[row]) if row in pictures else () for row in rows]
    return [
        Text().join(
            _padded(picture[number] if number < len(picture) else Text(), cell + 1) for picture in drawn
        )
        for number in range(max(map(len, drawn), default=0))
    ]


def _padded(text: Text, width: int) -> Text:
    return text.copy().append(" " * (width - text.cell_len))


def _legend(event: PoolQueryDone, palette: Palette) -> Text:
    text = Text(style=palette["dim"])
    text.append(INJECTED, palette["accent"]).append(f" injected {len(event.injected)}   ")
    text.append(REFERENCED, palette["strong"]).append(f" in a kept trajectory {len(event.referenced)}")
    return text.append("\nnumbers: rows of the embedding table; on the left: the first place of each line")


def _replaced(event: PoolQueryDone, pictures: Pictures, palette: Palette, width: int) -> RenderableType:
    """The old and the new row of each place; beside each other as many as fit."""
    blocks = [_replacement(event, place, pictures, palette) for place in event.injected]
    abreast = max(1, width // 26) if pictures else 1
    grid = Grid.grid(padding=(0, 3, 0, 0))
    for first in range(0, len(blocks), abreast):
        grid.add_row(*blocks[first : first + abreast])
    return grid


def _replacement(event: PoolQueryDone, place: int, pictures: Pictures, palette: Palette) -> Text:
    old, new = event.pool_before[place], event.pool_after[place]
    text = Text.assemble((f"{place:>2} ", palette["dim"]), f"{old} → ", (f"{new}", palette["accent"]))
    if not pictures:
        return text.append(f"   similarity {fixed(event.similarity[place])}", palette["dim"])
    for pair in _abreast((old, new), pictures, _PICTURE):
        text.append("\n" + " " * _GUTTER).append_text(pair)
    return text


class Pictured(Drawn):
    """Pictures beside what is said of them; documents have `about` in their place."""

    def __init__(
        self, pictures: Sequence[Sequence[Text]], words: Sequence[Words], about: Sequence[Block] = ()
    ) -> None:
        self._pictures, self._words, self._about = pictures, words, about

    def draw(self, palette: Palette, width: int) -> RenderableType:
        text = Text("\n").join(line(words, palette) for words in self._words)
        grid = Grid.grid(padding=(0, 2, 0, 0))
        grid.add_row(*(Text("\n").join(lines) for lines in self._pictures), text)
        return grid

    def in_documents(self) -> Sequence[Block]:
        return self._about


def beside_pair(rows: Sequence[int], pictures: Pictures, words: Sequence[Words]) -> Pictured:
    """What is said of a pair of demonstrations, beside their pictures."""
    return Pictured([_abreast(rows, pictures, _PICTURE)], words)


def beside_query(picture: str, pictures: Pictures, words: Sequence[Words]) -> Pictured:
    """What is said of a query, beside its picture, which is as wide as those of the candidates."""
    pixels = next((pixels for _, pixels in pictures.values()), 0)
    drawn = [thumbnail(picture, pixels)] if picture and pixels else []
    return Pictured(drawn, words, [Paragraph(line) for line in words])
