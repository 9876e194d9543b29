"""A table as batch prints it: figures are never cut."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich import table as rich
from rich.text import Text

from app.blocks.block import Table, plain
from app.blocks.terminal import add_cells

_GAP = 3
"""Cells between two columns."""
_LEAST = 32
"""Cells of a column of words below which it is not cut."""


def printed(table: Table, folded: Sequence[str] = ("model", "files"), width: int = 0) -> rich.Table:
    """Words on the left, figures on the right. The columns `folded` are wrapped where their text is too long. `width`:
    the cells that there are, where columns may be left out."""
    if width:
        table = table.narrowed(width - _GAP - 1, _GAP)
    cells = [[Text(plain(cell)) for cell in row] for row in table.rows]
    drawn = rich.Table(box=box.SIMPLE, title=table.caption, title_justify="left", caption_justify="left")
    add_cells(drawn, table, cells, _LEAST, folded)
    if table.legend:
        drawn.caption = Text("\n".join(table.legend))
    return drawn
