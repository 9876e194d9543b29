"""Blocks as a terminal shows them, in the theme's tones. Links can be followed in the console."""

from __future__ import annotations

from collections.abc import Sequence

from rich import table as rich
from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.style import Style
from rich.text import Text

from app.blocks.block import (
    Beside,
    Block,
    Bullets,
    Changes,
    Facts,
    Heading,
    OnScreen,
    Palette,
    Paragraph,
    Remark,
    Table,
    Target,
    Words,
    Writing,
    spans,
)
from app.blocks.model_text import clean, model_text
from app.blocks.two_texts import draw_texts
from app.table.column import TONES

_LEAST_WORDS = 8
"""Cells below which a column of words is not squeezed."""
META = "goto"
"""In a style's meta: where its text leads."""


def link(text: str, target: Target, style: Style) -> Text:
    """`text` as a link; what is appended to it is none."""
    return Text().append(text, style + Style(underline=True, meta={META: tuple(target)}))


def line(words: Words, palette: Palette) -> Text:
    """A line in its tones; what is no tone is the name of a colour."""
    text = Text()
    for span in spans(words):
        style = palette.get(span.tone, Style.null()) if span.tone in TONES else Style.parse(span.tone)
        if span.target is None:
            text.append(clean(span.text), style)
        else:
            text.append_text(link(clean(span.text), span.target, style))
    return text


def draw(blocks: Sequence[Block], palette: Palette, width: int) -> RenderableType:
    """The blocks below each other: a heading, and what is wider than a line, is set off by an empty line."""
    parts: list[RenderableType] = []
    before: Block | None = None
    for block in blocks:
        apart = isinstance(block, Heading) or (isinstance(block, _WIDE) and not isinstance(before, Heading))
        if before is not None and (apart or isinstance(before, _WIDE)):
            parts.append(Text())
        parts.append(_block(block, palette, width))
        before = block
    return Group(*parts)


_WIDE = (Table, Changes, Beside, OnScreen)


def _block(block: Block, palette: Palette, width: int) -> RenderableType:
    match block:
        case Heading(text):
            return Text.assemble(line(text, palette), style=palette.get("heading", ""))
        case Paragraph(text, tone):
            drawn = line(text, palette)
            drawn.style = palette.get(tone, "")
            return drawn
        case Bullets(items):
            return Text("\n").join(Text("- ").append_text(line(item, palette)) for item in items)
        case Facts(rows):
            return _facts(rows, palette)
        case Table():
            return _table(block.narrowed(width), palette)
        case Writing(text, tone):
            return model_text(text, palette.get(tone, Style.null()), palette["dim"])
        case Changes(new, old, names, _) if new == old:
            return Group(Text(names[0], palette["heading"]), model_text(new, Style.null(), palette["dim"]))
        case Changes(new, old, names, marked):
            return draw_texts(new, old, names, palette, width, marked)
        case Beside():
            return _beside(block, palette, width)
        case Remark(author, when, text):
            return Text.assemble(clean(text), (f"\n{clean(author)}, {when}", palette["dim"]))
        case OnScreen(blocks):
            return draw(blocks, palette, width)
        case _:  # a picture: the screen has charts of its own
            return Text()


def _facts(rows: Sequence[tuple[str, Words]], palette: Palette) -> RenderableType:
    grid = rich.Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True, style=palette["dim"])
    grid.add_column(overflow="fold")
    for name, value in rows:
        grid.add_row(clean(name), line(value, palette))
    return grid


def _table(table: Table, palette: Palette) -> RenderableType:
    drawn = rich.Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style=palette["heading"])
    add_cells(drawn, table, [[line(cell, palette) for cell in row] for row in table.rows], _LEAST_WORDS)
    above = [Text(table.caption, palette["heading"])] if table.caption else []
    return Group(*above, drawn, *(Text(note, palette["dim"]) for note in table.legend))


def add_cells(
    drawn: rich.Table,
    table: Table,
    cells: Sequence[Sequence[Text]],
    least: int,
    folded: Sequence[str] | None = None,
) -> None:
    """Words on the left, squeezed to no less than `least`; figures on the right, never cut. Where not all columns of
    words are `folded` into several lines, the others are cut."""
    for place, name in enumerate(table.header):
        figure, folds = place >= len(table.header) - table.figures, folded is None or name in folded
        longest = max([*map(cell_len, name.split("\n")), *(row[place].cell_len for row in cells)])
        drawn.add_column(
            Text(name),
            justify="right" if figure else "left",
            no_wrap=figure or not folds,
            overflow="fold" if folds else "ellipsis",
            min_width=longest if figure else min(longest, least),
        )
    for row in cells:
        drawn.add_row(*row)


def _beside(block: Beside, palette: Palette, width: int) -> RenderableType:
    if width < block.least:
        return Group(draw(block.first, palette, width), Text(), draw(block.second, palette, width))
    left = (width - 2) // 2
    right = width - left - 2
    grid = rich.Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(width=left)
    grid.add_column(width=right)
    grid.add_row(draw(block.first, palette, left), draw(block.second, palette, right))
    return grid
