"""What is kept of a tab that is left."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from textual.app import App, ComposeResult
from textual.containers import Vertical
from textual.widget import Widget

from app.methods.place import OfEvent, Place
from app.table.column import ListColumn
from app.table.filter import Field
from screens.tab_views import TableView, place_in, restore_view, show_place, view_of
from screens.widgets.filter_bar import FilterBar
from screens.widgets.tables.rows import ListSource
from screens.widgets.tables.virtual_table import VirtualTable


@pytest.mark.parametrize(
    ("follow", "over", "kept"), [(True, False, True), (True, True, False), (False, False, False)]
)
def test_a_table_is_followed_again_only_while_there_is_something_to_follow(
    follow: bool, over: bool, kept: bool
) -> None:
    table = SimpleNamespace(selected_key=7, follow=follow, sort_column="net", sort_reverse=True)
    pane: Any = SimpleNamespace(query=lambda kind: [table] if kind is VirtualTable else [])
    view = view_of(cast(Widget, pane), over)
    assert view is not None and (view.key, view.follow, view.sort, view.filter) == (
        7,
        kept,
        ("net", True),
        "",
    )


class Letters(ListSource[Any]):
    """Rows a to e, of which each begins a hundred bytes after the one before."""

    def __init__(self) -> None:
        super().__init__((ListColumn("letter", "letter", 6, value=lambda row: row.letter),), "letters")
        self.show(
            [
                SimpleNamespace(letter=letter, place=SimpleNamespace(offset=100 * at))
                for at, letter in enumerate("abcde")
            ]
        )


class ViewApp(App[None]):
    def compose(self) -> ComposeResult:
        with Vertical(id="pane"):
            yield VirtualTable(Letters())
            yield FilterBar({"m": Field("m", "number", "")})
        yield Vertical(id="bare")

    def on_mount(self) -> None:
        self.query_one(VirtualTable).refresh_rows()


async def test_a_table_is_set_as_it_was_left() -> None:
    """Its order, row and filter; at the newest row it follows again, in the order that somebody chose, too. What is not
    there yet is waited for."""
    async with ViewApp().run_test() as pilot:
        pane, bare = pilot.app.query_one("#pane"), pilot.app.query_one("#bare")
        table, bar = pane.query_one(VirtualTable), pane.query_one(FilterBar)
        restored: list[tuple[bool, Any, bool, str | None, bool, str]] = []
        for view in (
            TableView(2, False, (None, False), "m:1"), TableView(1, False, ("letter", True)),
            TableView(7, False, (None, False)), TableView(3, True, ("letter", False), "m:2"),
            TableView(None, False, (None, False)), TableView(4, False, (None, False)),
        ):  # fmt: skip
            done = restore_view(pane, view)
            await pilot.pause()
            restored.append(
                (
                    done,
                    table.selected_key,
                    table.follow,
                    table.sort_column,
                    table.sort_reverse,
                    bar.input.value,
                )
            )
        left = view_of(pane, over=False)
        assert restore_view(bare, TableView(2, False, (None, False))) and view_of(bare, over=False) is None
    assert restored == [
        (True, 2, False, None, False, "m:1"),
        (True, 1, False, "letter", True, "m:1"),
        (False, 1, False, None, False, "m:1"),
        (True, 1, False, "letter", False, "m:2"),
        (True, 1, False, "letter", False, "m:2"),
        (True, 4, False, None, False, "m:2"),  # the last row is not followed where somebody stayed on it
    ]
    assert left == TableView(4, False, (None, False), "m:2")


async def test_a_place_is_a_row_by_its_key_or_by_its_event() -> None:
    async with ViewApp().run_test() as pilot:
        pane, bare = pilot.app.query_one("#pane"), pilot.app.query_one("#bare")
        table = pane.query_one(VirtualTable)
        shown = [
            (show_place(pane, Place("pane", key)), table.cursor, table.follow)
            for key in (1, OfEvent(300), 9, OfEvent(5), None)
        ]
        pane.add_class("-open")
        assert place_in("x", pane) == Place("x", 3, "", open=True)
        assert show_place(bare, Place("bare", 1)) and place_in("y", bare) == Place("y")
    assert shown == [
        (True, 1, False),
        (True, 3, False),
        (False, 3, False),
        (False, 3, False),
        (True, 3, False),
    ]
