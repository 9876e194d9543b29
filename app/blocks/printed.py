"""Blocks as batch prints them: lines that are not cut, and tables whose figures are never cut."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich import box
from rich import table as rich
from rich.console import Console, ConsoleOptions, RenderResult
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
                console.print(printed(block, folded, console.width), crop=False)
            case Paragraph(text):
                console.print(Text(plain(text)), soft_wrap=True)
            case Bullets(items):
                for item in items:
                    console.print(Text(f"- {plain(item)}"), soft_wrap=True)
            case _:
                pass


def printed(table: Table, folded: Sequence[str] = (), width: int = 0) -> rich.Table:
    """Words on the left, figures on the right. `width`: the cells that there are, where columns may be left out."""
    shown = table.narrowed(width - _GAP - 1, _GAP) if width else table
    cells = [[Text(plain(cell)) for cell in row] for row in shown.rows]
    drawn = _Whole(box=box.SIMPLE, title=table.caption, title_justify="left", caption_justify="left")
    least = _LEAST // max(1, sum(name in folded for name in shown.header))
    add_cells(drawn, shown, cells, least, folded)
    kept = [name.replace("\n", " ") for name in shown.header]
    left_out = ", ".join(name for name in table.header if name not in kept)
    legend = [*shown.legend, *([f"no room for: {left_out}"] if left_out else [])]
    drawn.caption = Text("\n".join(legend)) if legend else None
    return drawn


class _Whole(rich.Table):
    """Wider than a terminal in which its columns have no room: rich by itself leaves narrow ones out."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        least = sum((column.min_width or 0) + _GAP for column in self.columns) + 1
        yield from super().__rich_console__(console, options.update_width(max(options.max_width, least)))
