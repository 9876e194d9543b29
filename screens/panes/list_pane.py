"""A table over a list of the state, beside or above a detail of the row under the cursor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from rich.console import RenderableType
from rich.style import Style
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.getters import query_one

from app.state.columns import Grow
from app.state.method import Place
from app.state.run import RunState
from app.table.column import Column
from app.text import counted
from engine.events import Event
from screens.run_session import Session
from screens.widgets.chart import Chart
from screens.widgets.detail_pane import DetailPane
from screens.widgets.rows import ItemSource
from screens.widgets.steady import Steady
from screens.widgets.virtual_table import VirtualTable

_NEXT = "Go to the next "


def telling_keys(label: str, what: str) -> list[BindingType]:
    """`d` and `D` for a pane whose rows can be `telling`: to the next and the previous one. `what`: one of them."""
    return [
        Binding("d", "differ(1)", f"Next {label}", tooltip=f"{_NEXT}{what}."),
        Binding("D", "differ(-1)", f"Previous {label}", show=False, tooltip=f"Go to the previous {what}."),
    ]


class ListPane(Container):
    """A table over a list of the state, beside or above a detail. Subclasses say which."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "slash", "app.find", "Find", key_display="/", tooltip="Find a row of the table by its words."
        ),
    ]
    LINKS: ClassVar[bool] = False
    """Whether the detail has ids to follow."""
    order: tuple[str, bool] | None = None
    """The column by which the rows of a finished run stand at first, and whether downwards; None: as in the log."""

    table = query_one(VirtualTable)
    detail = query_one(DetailPane)
    line = query_one(".pane-status", Steady)

    def __init__(
        self, session: Session, source: ItemSource[Any], empty: str, *, id: str | None = None
    ) -> None:
        super().__init__(id=id)
        self.session = session
        self.source = source
        self._empty = empty
        self._shown: object = None
        self._shown_item: object = None
        self._begun = False
        self._charts = self.charts()
        self.set_class(bool(self._charts), "-charted")
        for chart in self._charts[2:]:
            chart.add_class("-third")

    def compose(self) -> ComposeResult:
        with Vertical(classes="pane-table"):
            if charts := self._charts:
                with Container(classes="charts"):
                    yield from charts
            yield VirtualTable(self.source, self._empty)
            yield Steady(classes="pane-status")
        yield DetailPane()

    def charts(self) -> Sequence[Chart]:
        """What stands above the table where there is height for it."""
        return ()

    def items(self, state: RunState) -> Sequence[Any] | Grow[Any]:
        """The list to show, from the state."""
        raise NotImplementedError

    def draw(self, item: Any, palette: dict[str, Style], width: int) -> RenderableType:
        """An item in full, for the detail."""
        raise NotImplementedError

    def show(self) -> None:
        """Draw the session's state."""
        self.source.show(self.items(self.session.state))
        self.table.refresh_rows()
        self._begin()
        self.show_detail()
        self.show_status()

    def _begin(self) -> None:
        """A run that is over is read from its first telling row on; a live one is followed."""
        if not self._begun and len(self.source) and self.table.over:
            self._begun = True
            if not self.table.follow or self.has_class("-open"):  # somebody reads a row
                return
            if self.order is not None:
                self.table.sort_by(*self.order)
            self.table.begin_at(self.first_row())

    def first_row(self) -> int:
        """The row from which a run that is over is read."""
        rows = range(len(self.source))
        return next((row for row in rows if self.telling(self.source.item(row))), 0)

    def telling(self, item: Any) -> bool:
        """Whether a run that is over is read from this item on, the first such. With `telling_keys`, `d` goes to the
        next one."""
        return False

    def action_differ(self, by: int) -> None:
        """Go to the next or previous telling row."""
        if not self.table.seek(by, lambda row: self.telling(self.source.item(row))):
            tip = next(b.tooltip for b in self.BINDINGS if isinstance(b, Binding) and b.key == "d")
            self.notify(f"There is no {tip.removeprefix(_NEXT)}", markup=False)

    @on(VirtualTable.Highlighted)
    def _moved(self) -> None:
        self.show_detail()

    def show_detail(self) -> None:
        """Draw the row under the cursor in full; where more became known of it, the place in it is kept."""
        if not len(self.source):
            self._shown = None
            self.detail.show(None)
            return
        item = self.source.item(min(self.table.cursor, len(self.source) - 1))
        if (key := self.key(item)) != self._shown:
            top, self._shown, self._shown_item = item != self._shown_item, key, item
            self.detail.show(lambda palette, width: self._drawn(item, palette, width), top, self.LINKS)

    def _drawn(self, item: Any, palette: dict[str, Style], width: int) -> RenderableType:
        try:
            return self.draw(item, palette, width)
        except LookupError:
            return Text("The log lacks an event that this would be drawn from.", palette["bad"])

    def under_cursor(self) -> Any | None:
        """The item under the cursor."""
        return self.source.item(min(self.table.cursor, len(self.source) - 1)) if len(self.source) else None

    def read_row(self) -> Event | None:
        """The event that the row under the cursor is about. Raises SteerError or OSError where the log cannot be
        read."""
        item = self.under_cursor()
        return None if item is None else self.session.read(*self.place(item))

    def place(self, item: Any) -> Place:
        """Where the event that an item is about stands in the log."""
        return item.place

    def counted(self) -> str:
        """How many rows there are."""
        return counted(len(self.source), self.source.noun)

    def about(self, column: Column) -> str:
        """What a column shows."""
        return f"{column.label}: {column.help}"

    def remark(self) -> str:
        """What the whole list says, for the line under it."""
        return ""

    def key(self, item: Any) -> object:
        """What the detail depends on."""
        return item

    @on(VirtualTable.Changed)
    def _changed(self) -> None:
        self.show_status()

    def show_status(self) -> None:
        """Say below the table what it shows."""
        table = self.table
        parts = [self.counted(), *filter(None, [self.remark()])]
        if table.wanted:
            parts.append(f"find {' '.join(table.wanted)}: n next, esc none")
        if table.sort_column is not None:
            label = next(c.label for c in self.source.columns if c.key == table.sort_column)
            parts.append(f"sorted by {label} {'↓' if table.sort_reverse else '↑'}")
        elif table.follow and not self.table.over:
            parts.append("following")
        column = table.marked_column
        if column is None and len(self.source):
            parts.append("← → explain a column")
        elif column is not None and column.help:
            parts.append(self.about(column))
        self.line.update(Text("  │  ".join(parts), no_wrap=True, overflow="ellipsis"))

    @on(VirtualTable.Selected)
    def open(self) -> None:
        """Give the detail all the room."""
        self.add_class("-open")
        self.detail.focus()

    def close_one(self) -> bool:
        """Close the opened detail, else end finding; False if there was neither."""
        if self.has_class("-open"):
            self.remove_class("-open")
            self.table.focus()
            return True
        found = bool(self.table.wanted)
        self.table.look_for(())
        return found
