"""Blocks as batch prints them: lines that are not cut, and tables whose figures are never cut."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich import box
from rich import table as rich
from rich.console import Console
from rich.text import Text

from app.blocks.block import Block, Bullets, Paragraph, Table, plain
from app.blocks.terminal import add_cells

_GAP = 3
"""Cells between two columns."""
_LEAST = 32
"""Cells of a column of words below which it is not cut; several that are folded share them."""


def print_blocks(blocks: Iterable[Block], console: Console, folded: Sequence[str]) -> None:
    """Tables, in which the columns `folded` are wrapped where their text is too long, and others left out where there
    is no room; a line for each paragraph and bullet. Other blocks are passed over."""
    for block in blocks:
        match block:
            case Table():
                console.print(printed(block, folded, console.width))
            case Paragraph(text):
                console.print(Text(plain(text)), soft_wrap=True)
            case Bullets(items):
                for item in items:
                    console.print(Text(f"- {plain(item)}"), soft_wrap=True)
            case _:
                pass


def printed(table: Table, folded: Sequence[str] = (), width: int = 0) -> rich.Table:
    """Words on the left, figures on the right. `width`: the cells that there are, where columns may be left out."""
    if width:
        table = table.narrowed(width - _GAP - 1, _GAP)
    cells = [[Text(plain(cell)) for cell in row] for row in table.rows]
    drawn = rich.Table(box=box.SIMPLE, title=table.caption, title_justify="left", caption_justify="left")
    least = _LEAST // max(1, sum(name in folded for name in table.header))
    add_cells(drawn, table, cells, least, folded)
    if table.legend:
        drawn.caption = Text("\n".join(table.legend))
    return drawn
