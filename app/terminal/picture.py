"""What stands on the terminal, cell by cell, so that only what differs is sent.

Textual sends a widget again, whole, whenever it was drawn again. Here each update goes into a picture of the terminal
first; `changes` gives what is not on the terminal yet, with the fewest control codes. A terminal that is slow gets
the newest picture when it is ready for one, and none of those between.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from rich.cells import get_character_cell_size
from rich.color import ColorSystem
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from app.textual_internals import ChopsUpdate, CompositorUpdate, LayoutUpdate

_NEAR = 8
"""Equal cells between two changes that are sent again rather than skipped: to move the cursor takes as much."""

_CODES = {
    "bold": "1", "dim": "2", "italic": "3", "underline": "4", "blink": "5", "blink2": "6", "reverse": "7",
    "conceal": "8", "strike": "9", "underline2": "21", "frame": "51", "encircle": "52", "overline": "53",
}  # fmt: skip


class Look(NamedTuple):
    """How a cell is drawn: SGR codes of attributes, of the colour, of the background; a link's escape code."""

    attributes: str = ""
    colour: str = ""
    background: str = ""
    link: str = ""


Cell = tuple[str, Look]
"""A character with its marks, or "" for the second half of a wide one."""

_PLAIN = Look()
_UNKNOWN: Cell = ("?", Look("unknown"))
Piece = tuple[int, int, Strip]
"""Line, column, content."""


class TerminalPicture:
    """Takes Textual's updates with `draw`; `changes` gives what to write, and takes it for written."""

    def __init__(self, colours: ColorSystem = ColorSystem.TRUECOLOR) -> None:
        self._colours = colours
        self._size = (0, 0)
        self._target: list[list[Cell]] = []
        self._sent: list[list[Cell]] = []
        self._touched: set[int] = set()
        self._looks: dict[int, tuple[Style, Look]] = {}

    def forget(self) -> None:
        """Nothing is known of what stands on the terminal: everything has to be sent."""
        self._sent = [[_UNKNOWN] * len(line) for line in self._target]
        self._touched = set(range(len(self._target)))

    def draw(self, update: CompositorUpdate, width: int, height: int) -> None:
        """Put an update into the picture of a terminal of `width` × `height` cells."""
        if (width, height) != self._size:
            self._size = (width, height)
            self._target = [[_UNKNOWN] * width for _ in range(height)]
            self.forget()
        for y, x, strip in _pieces(update):
            if 0 <= y < height:
                cells = [cell for segment in strip if not segment.control for cell in self._cells(segment)]
                line, cells = self._target[y], cells[: max(0, width - x)]
                if line[x : x + len(cells)] != cells:
                    line[x : x + len(cells)] = cells
                    self._touched.add(y)

    def changes(self) -> str:
        """Characters and control codes that bring the terminal up to the picture; "" if it is."""
        written: list[str] = []
        look = _PLAIN
        for y in sorted(self._touched):
            line, sent = self._target[y], self._sent[y]
            for start, end in _differing(line, sent):
                written.append(f"\x1b[{y + 1};{start + 1}H")
                for text, new_look in line[start:end]:
                    if new_look != look:
                        written.append(_switch(look, new_look))
                        look = new_look
                    written.append(text)
            sent[:] = line
        self._touched.clear()
        if look != _PLAIN:
            written.append(_switch(look, _PLAIN))
        return "".join(written)

    def _cells(self, segment: Segment) -> list[Cell]:
        text, look = segment.text, self._look(segment.style)
        if text.isascii():
            return [(character, look) for character in text]
        cells: list[Cell] = []
        for character in text:
            size = get_character_cell_size(character)
            if size:
                cells += [(character, look), ("", look)][:size]
            elif cells:  # a mark on the character before it
                last = -2 if cells[-1][0] == "" and len(cells) > 1 else -1
                cells[last] = (cells[last][0] + character, look)
        if len(cells) != segment.cell_length:  # characters that join: nobody knows where they are drawn
            return [(text, look), *[("", look)] * (segment.cell_length - 1)]
        return cells

    def _look(self, style: Style | None) -> Look:
        if style is None:
            return _PLAIN
        known = self._looks.get(id(style))
        if known is not None and known[0] is style:
            return known[1]
        if len(self._looks) > 20_000:
            self._looks.clear()
        look = _look_of(style, self._colours)
        self._looks[id(style)] = (style, look)
        return look


def _pieces(update: CompositorUpdate) -> Iterator[Piece]:
    if isinstance(update, LayoutUpdate):
        for y, line in enumerate(update.strips, update.region.y):
            yield from _side_by_side(y, update.region.x, line)
    elif isinstance(update, ChopsUpdate):
        for y, left, right in update.spans:
            ends = update.chop_ends[y]
            for end, (x, strip) in zip(ends, update.chops[y].items(), strict=False):
                if strip is not None and x <= right and end > left:
                    yield y, x, strip


def _side_by_side(y: int, x: int, line: Iterable[Strip]) -> Iterator[Piece]:
    for strip in line:
        yield y, x, strip
        x += strip.cell_length


def _differing(line: list[Cell], sent: list[Cell]) -> Iterator[tuple[int, int]]:
    """Spans of cells to send, from the left: none begins or ends inside a wide character."""
    if line == sent:
        return
    uncertain = any(len(text) > 1 or text >= "\U0001f000" for text, _ in line)
    changed = [x for x, (new, old) in enumerate(zip(line, sent, strict=True)) if new != old]
    start, end = changed[0], len(line) if uncertain else changed[0] + 1
    for x in changed:
        if x > end + _NEAR:
            yield _whole(line, start, end)
            start = x
        end = max(end, x + 1)
    yield _whole(line, start, end)


def _whole(line: list[Cell], start: int, end: int) -> tuple[int, int]:
    while start > 0 and line[start][0] == "":
        start -= 1
    while end < len(line) and line[end][0] == "":
        end += 1
    return start, end


def _switch(before: Look, after: Look) -> str:
    """The control code from one look to another."""
    link = "" if before.link == after.link else after.link or "\x1b]8;;\x1b\\"
    if before.attributes != after.attributes:
        codes = ["0", after.attributes, after.colour, after.background]
        return f"\x1b[{';'.join(code for code in codes if code)}m{link}"
    codes = []
    if before.colour != after.colour:
        codes.append(after.colour or "39")
    if before.background != after.background:
        codes.append(after.background or "49")
    return (f"\x1b[{';'.join(codes)}m" if codes else "") + link


def _look_of(style: Style, colours: ColorSystem) -> Look:
    names = [code for name, code in _CODES.items() if getattr(style, name)]
    colour = style.color.downgrade(colours).get_ansi_codes() if style.color else ()
    background = style.bgcolor.downgrade(colours).get_ansi_codes(foreground=False) if style.bgcolor else ()
    link = f"\x1b]8;id={style.link_id};{style.link}\x1b\\" if style.link else ""
    return Look(";".join(names), ";".join(colour), ";".join(background), link)
