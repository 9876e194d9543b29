"""The layout of all result tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich import box
from rich.table import Table
from rich.text import Text

_LEAST = 32
"""Cells of a column of words below which it is not cut."""


def result_tables(
    title: str,
    words: Sequence[str],
    figures: Sequence[str],
    rows: Iterable[Sequence[str]],
    folded: str = "",
    notes: Sequence[str] = (),
) -> list[Table]:
    """A table with columns of words on the left and of figures on the right; no table where there are no rows. Figures
    are never cut. The column `folded` is wrapped where its text is too long. `notes` stand below."""
    cells = [[Text(cell) for cell in row] for row in rows]
    if not cells:
        return []
    table = Table(box=box.SIMPLE, title=title, title_justify="left", caption_justify="left")
    for at, heading in enumerate([*words, *figures]):
        longest = max(len(heading), *(row[at].cell_len for row in cells))
        figure = at >= len(words)
        table.add_column(
            heading,
            justify="right" if figure else "left",
            no_wrap=figure or heading != folded,
            overflow="fold" if heading == folded else "ellipsis",
            min_width=longest if figure else min(longest, _LEAST),
        )
    for row in cells:
        table.add_row(*row)
    if notes:
        table.caption = Text("\n".join(notes))
    return [table]
