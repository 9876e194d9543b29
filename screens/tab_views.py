"""How a tabbed screen is left and restored: the filter, order and cursor of its tables."""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

from textual.widget import Widget

from app.methods.place import OfEvent, Place
from screens.panes.cases import CasesPane
from screens.widgets.filter_bar import FilterBar
from screens.widgets.tables.virtual_table import VirtualTable


class TableView(NamedTuple):
    """How a tab's table is left. `key`: of the row under the cursor; `sort`: the column, and whether downwards;
    `filter`: as it was typed."""

    key: Hashable
    follow: bool
    sort: tuple[str | None, bool]
    filter: str = ""


def table_in(pane: Widget) -> VirtualTable | None:
    """The table of a tab's content, where it has one."""
    return next(iter(pane.query(VirtualTable)), None)


def view_of(pane: Widget, over: bool) -> TableView | None:
    """What is to be kept of a tab's content. `over`: no more rows come, so that none is followed."""
    if (table := table_in(pane)) is None:
        return None
    bar = next(iter(pane.query(FilterBar)), None)
    typed = "" if bar is None else bar.input.value
    sort = (table.sort_column, table.sort_reverse)
    return TableView(table.selected_key, table.follow and not over, sort, typed)


def restore_view(pane: Widget, view: TableView) -> bool:
    """Set a tab's content as it was left; False while rows that are needed for that are not there yet."""
    for bar in pane.query(FilterBar):
        if view.filter and bar.input.value != view.filter:
            bar.set(view.filter)
    if (table := table_in(pane)) is None:
        return True
    at_newest = view.follow or view.key is None
    chosen = view.sort[0] is not None or not at_newest  # the log's order, too
    if chosen and (table.sort_column, table.sort_reverse) != view.sort:
        table.sort_by(*view.sort)
    return at_newest or _stay_on(table, table.source.find(view.key))


def _stay_on(table: VirtualTable, row: int | None) -> bool:
    if row is None:
        return False
    table.go_to(row)
    table.follow = False
    return True


def place_in(tab: str, pane: Widget) -> Place:
    """Where a tab's content is looking."""
    key = None if (table := table_in(pane)) is None else table.selected_key
    filter_text = pane.filter_text if isinstance(pane, CasesPane) else ""
    return Place(tab, key, filter_text, pane.has_class("-open"))


def show_place(pane: Widget, place: Place) -> bool:
    """Filter a tab's table and go to the row that a place names; False while the row is not there."""
    if isinstance(pane, CasesPane) and place.filter != pane.filter_text:
        pane.filter_by(place.filter)
        pane.table.follow = False
    table, key = table_in(pane), place.key
    if table is None or key is None:
        return True
    source = table.source
    return _stay_on(table, source.row_at(key.offset) if isinstance(key, OfEvent) else source.find(key))
