"""Two texts of the same thing, line by line: + stands before what only the first has, − before what only the second
has."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import NamedTuple

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from app.blocks.block import Palette
from app.blocks.changes import changed_pieces
from app.blocks.model_text import clean
from app.table.column import Tone

_ABREAST = 90
_LONGEST = 400
"""Lines beyond which texts are not compared: that takes time with the square of them."""


class _Pair(NamedTuple):
    """Lines that stand beside each other; `new` begins at character `start` of its text, -1 where there is none."""

    new: str | None
    old: str | None
    start: int


def draw_texts(
    new: str, old: str, names: tuple[str, str], palette: Palette, width: int, here: tuple[int, int] = (0, 0)
) -> RenderableType:
    """Beside each other where there is room, else below each other. `names`: headings; `here`: the characters of `new`
    that are marked with ▸."""
    abreast = width >= _ABREAST
    grid = Table(
        box=None, padding=(0, 1, 0, 0), pad_edge=False, expand=True, show_header=abreast,
        header_style=palette["heading"],
    )  # fmt: skip
    for name in names if abreast else names[:1]:
        grid.add_column("", width=2)
        grid.add_column(Text(name), ratio=1, overflow="fold")
    if not abreast:
        grid.add_row("", Text(f"+ {names[0]}   − {names[1]}", palette["heading"]))
    for pair in _pairs(new, old):
        differs = pair.new != pair.old
        mine, theirs = _words(pair, palette)
        mark = "▸" if here[0] <= pair.start < here[1] else " "
        first = _sign("+" if differs and pair.new is not None else " ", mark, palette), mine
        second = _sign("−" if differs and pair.old is not None else " ", " ", palette), theirs
        if abreast:
            grid.add_row(*first, *second)
            continue
        for text, row in ((pair.old if differs else None, second), (pair.new, first)):
            if text is not None:
                grid.add_row(*row)
    return grid


def _sign(sign: str, mark: str, palette: Palette) -> Text:
    tone = {"+": "accent", "−": "warn"}.get(sign, "dim")
    return Text.assemble((sign, palette[tone]), (mark, palette["strong"]))


def _pairs(new: str, old: str) -> Iterator[_Pair]:
    """The lines of both, what is equal beside each other; empty lines are only space between segments."""
    starts, mine = _lines(new)
    _, theirs = _lines(old)
    if max(len(mine), len(theirs)) > _LONGEST:
        blocks = [("replace", 0, len(mine), 0, len(theirs))]
    else:
        blocks = SequenceMatcher(None, mine, theirs, autojunk=False).get_opcodes()
    for _, a, b, c, d in blocks:
        for i in range(max(b - a, d - c)):
            line = mine[a + i] if a + i < b else None
            yield _Pair(line, theirs[c + i] if c + i < d else None, starts[a + i] if line is not None else -1)


def _lines(text: str) -> tuple[list[int], list[str]]:
    starts, lines, at = [], [], 0
    for line in text.split("\n"):
        if line.strip():
            starts.append(at)
            lines.append(clean(line).replace("\n", " "))
        at += len(line) + 1
    return starts, lines


def _words(pair: _Pair, palette: Palette) -> tuple[Text, Text]:
    """Both lines, with the words in which they differ in their tones."""
    pieces = changed_pieces(pair.new or "", pair.old or "")

    def line(sign: str, tone: Tone) -> Text:
        return Text.assemble(
            *((text, palette[tone] if at == sign else "") for at, text in pieces if at in " " + sign)
        )

    return line("+", "accent"), line("-", "warn")
