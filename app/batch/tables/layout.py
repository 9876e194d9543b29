"""How every table of results looks, and how its figures are written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich import box
from rich.table import Table
from rich.text import Text


def result_tables(
    title: str, words: Sequence[str], figures: Sequence[str], rows: Iterable[Sequence[str]], folded: str = ""
) -> list[Table]:
    """One table: columns of words on the left, of figures on the right; no table where there are no rows. The
    column `folded` goes on in a further line where its text is too long."""
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


def share(value: float | None) -> str:
    """`0.812`; nothing where there is none, as everywhere here."""
    return "" if value is None else f"{value:.3f}"


def shares(low: float | None, high: float | None) -> str:
    """`[0.750, 0.870]`"""
    return "" if low is None or high is None else f"[{low:.3f}, {high:.3f}]"


def difference(value: float | None) -> str:
    """`+0.120`"""
    return "" if value is None else f"{value:+.3f}"


def differences(low: float | None, high: float | None) -> str:
    """`[+0.050, +0.210]`"""
    return "" if low is None or high is None else f"[{low:+.3f}, {high:+.3f}]"


def probability(p: float | None) -> str:
    """`0.031`"""
    return "" if p is None else f"{p:.3g}"
