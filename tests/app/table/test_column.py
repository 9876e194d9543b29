"""What a column shows of a row, and by what it is sorted and exported."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from app.table.column import Cell, ListColumn, cell_of

ROW: Any = SimpleNamespace(
    none=None,
    text="a",
    number=2,
    share=0.5,
    flag=True,
    pair=(3, 4),
    cell=Cell("✓", "good"),
    turned=SimpleNamespace(n=7),
)


@pytest.mark.parametrize(
    ("key", "plain", "shown"),
    [
        ("none", None, Cell("None")), ("text", "a", Cell("a")), ("number", 2, Cell("2")), ("share", 0.5, Cell("0.5")),
        ("flag", True, Cell("True")), ("pair", "(3, 4)", Cell("(3, 4)")), ("cell", "✓", Cell("✓", "good")),
    ],
)  # fmt: skip
def test_without_more_words_it_is_the_attribute_of_its_key(key: str, plain: object, shown: Cell) -> None:
    """Figures and texts are sorted as they are, records as they are drawn."""
    column: ListColumn[Any] = ListColumn(key, key, 4)
    assert column.plain(ROW) == plain and cell_of(column.show(column.value(ROW))) == shown


def test_value_and_show_are_taken_where_they_are_given() -> None:
    column: ListColumn[Any] = ListColumn(
        "x", "X", 4, value=lambda row: row.turned, show=lambda turned: f"▲{turned.n}"
    )
    assert column.plain(ROW) == "▲7"
    assert (column.justify, column.priority, column.flex, column.help, column.name) == (
        "left",
        0,
        False,
        "",
        False,
    )
    assert Cell("a") == Cell("a", "") and cell_of(Cell("a", "bad")) == Cell("a", "bad")
