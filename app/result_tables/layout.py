"""The layout of all result tables, and the format of their figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich import box
from rich.table import Table
from rich.text import Text


def result_tables(
    title: str, words: Sequence[str], figures: Sequence[str], rows: Iterable[Sequence[str]], folded: str = ""
) -> list[Table]:
    """A table with columns of words on the left and of figures on the right; no table where there are no rows. The
    column `folded` is wrapped where its text is too long."""
    table = Table(box=box.SIMPLE, title=title, title_justify="left")
    for heading in words:
        table.add_column(
            heading, no_wrap=heading != folded, overflow="fold" if heading == folded else "ellipsis"
        )
    for heading in figures:
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*map(Text, row))
    return [table] if table.row_count else []


def figure(value: float | None, sign: str = "", digits: int = 3) -> str:
    """`0.812`, with `sign` "+" `+0.812`; nothing for None, as in all functions here."""
    return "" if value is None else f"{value:{sign}.{digits}f}"


def interval(low: float | None, high: float | None, sign: str = "", digits: int = 3) -> str:
    """`[0.750, 0.870]`, with `sign` "+" `[+0.750, +0.870]`."""
    if low is None or high is None:
        return ""
    return f"[{figure(low, sign, digits)}, {figure(high, sign, digits)}]"


def probability(p: float | None) -> str:
    """`0.031`"""
    return "" if p is None else f"{p:.3g}"
