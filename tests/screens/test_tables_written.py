"""The names of the CSV files that `e` writes, and what stands in them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from app.blocks.block import Span, Table
from screens.panes.blocks import BlocksPane
from screens.tabbed_screen import TabbedScreen, _file_name


class Page(BlocksPane):
    """A pane with these tables."""

    def __init__(self, *tables: Table) -> None:
        self._tables = list(tables)

    def tables(self) -> list[Table]:
        return self._tables


def test_a_table_is_called_by_its_caption_else_by_its_first_heading() -> None:
    rows = [(Span("esm", "strong"), ("0.9", Span("65"))), ("greedy", "0.6")]
    page = Page(
        Table(("method", "accuracy"), rows, 1, caption="Methods, against greedy"),
        Table(("stage", "time"), []),
    )
    screen: Any = SimpleNamespace(pane=page)
    first, second = TabbedScreen._tables(screen)
    assert (first.title, first.noun, first.header) == (
        "Methods, against greedy", "rows", ("method", "accuracy")
    )  # fmt: skip
    assert first.rows == [["esm", "0.965"], ["greedy", "0.6"]]
    assert second.title == "stage"


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Methods, against greedy", "methods"),
        ("Tokens of an answer", "tokens-of-an-answer"),
        ("by axis", "by-axis"),
        ("±", "table"),
    ],
)
def test_the_name_of_its_file(title: str, name: str) -> None:
    assert _file_name(title) == name
