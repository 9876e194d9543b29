"""A query's pool as a grid of 8x8 candidates: the injected, the replaced, and those in kept trajectories."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from app.blocks.block import Block, Drawn, Palette, Words, facts
from app.blocks.terminal import line
from app.blocks.thumbnail import thumbnail
from app.figures import fixed
from app.methods.source import CaseSource
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
        text = Text(" " * _GUTTER)
        for picture in drawn:
            text.append_text(padded(picture[number] if number < len(picture) else Text(), cell)).append(" ")
        lines.append(text)
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
    grid = Grid.grid(padding=(0, 3, 0, 0))
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
        text.append("\n" + " " * _GUTTER)
        text.append_text(padded(left[number] if number < len(left) else Text(), _PICTURE))
        text.append(" → " if number == 1 else "   ")
        text.append_text(right[number] if number < len(right) else Text())
    return text


class Pair(Drawn):
    """A pair of demonstrations as pictures beside what is said of it; rows alone where the log has no pictures."""

    def __init__(self, rows: Sequence[int], pictures: Pictures, words: Sequence[Words]) -> None:
        self._rows, self._pictures, self._words = rows, pictures, words

    def draw(self, palette: Palette, width: int) -> RenderableType:
        grid = Grid.grid(padding=(0, 2, 0, 0))
        said = Text("\n").join(line(words, palette) for words in self._words)
        grid.add_row(_pictures_in_a_row(self._rows, self._pictures), said)
        return grid

    def in_documents(self) -> Sequence[Block]:
        return []


def _pictures_in_a_row(rows: Sequence[int], pictures: Pictures) -> Text:
    drawn = [thumbnail(*pictures[row]) if row in pictures else () for row in rows]
    lines = []
    for number in range(max(map(len, drawn), default=0)):
        text = Text()
        for picture in drawn:
            text.append_text(padded(picture[number] if number < len(picture) else Text(), _PICTURE)).append(
                " "
            )
        lines.append(text)
    return Text("\n").join(lines)


class WithPicture(Drawn):
    """The query's own picture beside the words about it."""

    def __init__(
        self, picture: str, pictures: Pictures, about: Sequence[Block], words: Sequence[Words]
    ) -> None:
        self._picture, self._pictures, self._about, self._words = picture, pictures, about, words

    def draw(self, palette: Palette, width: int) -> RenderableType:
        said = Text("\n").join(line(words, palette) for words in self._words)
        if not self._picture or not self._pictures:
            return said
        _, pixels = next(iter(self._pictures.values()))
        grid = Grid.grid(padding=(0, 2, 0, 0))
        grid.add_row(Text("\n").join(thumbnail(self._picture, pixels)), said)
        return grid

    def in_documents(self) -> Sequence[Block]:
        return self._about
