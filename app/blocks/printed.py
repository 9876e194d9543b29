"""A table as batch prints it: figures are never cut."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich import table as rich
from rich.text import Text

from app.blocks.block import Table, plain

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
    for at, heading in enumerate(table.header):
        longest = max(len(heading), *(row[at].cell_len for row in cells))
        figure = at >= len(table.header) - table.figures
        drawn.add_column(
            heading,
            justify="right" if figure else "left",
            no_wrap=figure or heading not in folded,
            overflow="fold" if heading in folded else "ellipsis",
            min_width=longest if figure else min(longest, _LEAST),
        )
    for row in cells:
        drawn.add_row(*row)
    if table.legend:
        drawn.caption = Text("\n".join(table.legend))
    return drawn
