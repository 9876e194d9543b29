"""How a tabbed screen is left and restored: the filter, order and cursor of its tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from textual.widget import Widget

from app.methods.place import OfEvent, Place
from screens.panes.cases import CasesPane
from screens.widgets.filter_bar import FilterBar
from screens.widgets.tables.virtual_table import VirtualTable


def pane_view(pane: Widget, over: bool) -> dict[str, Any]:
    """What is to be kept of a tab's content. `over`: no more rows come, so that none is followed."""
    bars = [(bar.input.value, bar.finding) for bar in pane.query(FilterBar)]
    tables = [
        {
            "key": table.selected_key,
            "follow": table.follow and not over,
            "sort": (table.sort_column, table.sort_reverse),
        }
        for table in pane.query(VirtualTable)
    ]
    return {"bars": bars, "tables": tables}


def restore_view(pane: Widget, view: Mapping[str, Any]) -> bool:
    """Set a tab's content as it was left; False while rows that are needed for that are not there yet."""
    for bar, (text, finding) in zip(pane.query(FilterBar), view["bars"], strict=False):
        if text and bar.input.value != text:
            bar.set(text)
            if finding:
                bar.action_mode()
    there = [_cursor(t, kept) for t, kept in zip(pane.query(VirtualTable), view["tables"], strict=False)]
    return all(there)


def _cursor(table: VirtualTable, kept: Mapping[str, Any]) -> bool:
    column, reverse = kept["sort"]
    chosen = column is not None or not (kept["follow"] or kept["key"] is None)  # the log's order, too
    if chosen and (table.sort_column, table.sort_reverse) != (column, reverse):
        table.sort_by(column, reverse)
    if kept["follow"] or kept["key"] is None:
        return True
    row = table.source.find(kept["key"])
    if row is None:
        return False
    table.go_to(row)
    table.follow = False
    return True


def place_in(tab: str, pane: Widget) -> Place:
    """Where a tab's content is looking."""
    table = next(iter(pane.query(VirtualTable)), None)
    return Place(
        tab,
        None if table is None else table.selected_key,
        pane.filter_text if isinstance(pane, CasesPane) else "",
        pane.has_class("-open"),
    )


def show_place(pane: Widget, place: Place) -> bool:
    """Filter a tab's table and go to the row that a place names; False while the row is not there."""
    table = next(iter(pane.query(VirtualTable)), None)
    if isinstance(pane, CasesPane) and place.filter != pane.filter_text:
        pane.filter_by(place.filter)
        if table is not None:
            table.follow = False
    if table is None or place.key is None:
        return True
    key, source = place.key, table.source
    row = source.row_at(key.offset) if isinstance(key, OfEvent) else source.find(key)
    if row is None:
        return False
    table.go_to(row)
    table.follow = False
    return True
