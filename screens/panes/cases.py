"""The cases of one kind: a table, beside or above the case under the cursor in full."""

from __future__ import annotations

from typing import Any

from rich.console import RenderableType
from rich.style import Style
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.getters import query_one

from app.blocks.terminal import draw
from app.methods.cases import Cases
from app.methods.pages import choices_of_events
from app.methods.source import CaseSource
from app.runs.queries.what_if import WhatIfProcess
from app.state.run import RunState
from app.table.column import Column
from app.wording.text import counted
from engine.errors import SteerError
from engine.run.event_log import LogPlace
from screens.panes.pane import Pane
from screens.run_session import Session
from screens.what_if.screen import WhatIfScreen
from screens.widgets.detail_pane import DetailPane
from screens.widgets.lazy_static import LazyStatic
from screens.widgets.tables.rows import ItemSource, ListSource
from screens.widgets.tables.virtual_table import VirtualTable


class CasesPane(Pane):
    """The cases of one kind."""

    BINDINGS = [
        Binding("slash", "app.find", "Find", tooltip="Find a row of the table by its words."),
        Binding("d", "differ(1)", "Next notable", tooltip="Go to the next case worth seeing."),
        Binding("D", "differ(-1)", "Previous notable", show=False, tooltip="Go to the previous case worth seeing."),
        Binding("left_parenthesis", "step(-1)", "Steps", key_display="( )", tooltip="One step earlier or later."),
        Binding("left", "beside(-1)", "Others", key_display="← →", tooltip="In a case: the one before or after it."),
        Binding("right", "beside(1)", "After", show=False, tooltip="In a case: the one after it."),
        Binding("right_parenthesis", "step(1)", "Later", show=False, tooltip="The case one step later."),
    ]  # fmt: skip

    table = query_one(VirtualTable)
    detail = query_one(DetailPane)
    line = query_one(".pane-status", LazyStatic)

    filter_text = ""
    """The filter that hides rows, in a kind of cases that has one."""

    def __init__(
        self, session: Session, cases: Cases[Any], source: ItemSource[Any] | None = None, *, id: str
    ) -> None:
        super().__init__(id=id)
        self.session = session
        self.cases = cases
        self.source = ListSource(cases.columns, cases.name) if source is None else source
        self._shown: object = None
        self._shown_item: object = None
        self._begun = False
        self._step: int | None = None
        self._step_of: object = None

    def compose(self) -> ComposeResult:
        with Vertical(classes="pane-table"):
            yield VirtualTable(self.source, self.cases.empty)
            yield from self.below_table()
            yield LazyStatic(classes="pane-status")
        yield DetailPane()

    def below_table(self) -> ComposeResult:
        """What stands between the table and the line under it."""
        yield from ()

    def items(self, state: RunState) -> Any:
        """What the table is made from."""
        return self.cases.rows(state)

    def show(self) -> None:
        """Draw the session's state."""
        state, columns = self.session.state, self.cases.columns_of
        self.source.show(self.items(state), *([columns(state)] if columns else []))
        self.table.refresh_rows()
        self._begin()
        self.show_detail()
        self.show_status()

    def _begin(self) -> None:
        """A run that is over is read from its first notable case on; a live one is followed."""
        if not self._begun and len(self.source) and self.table.over:
            self._begun = True
            if not self.table.follow or self.has_class("-open"):  # somebody reads a row
                return
            if self.cases.order is not None:
                self.table.sort_by(*self.cases.order)
            self.table.begin_at(self.first_row())

    def first_row(self) -> int:
        """The row from which a run that is over is read."""
        rows = range(len(self.source))
        return next((row for row in rows if self._is_notable_row(row)), 0)

    def is_notable(self, item: Any) -> bool:
        """Whether the case is worth seeing."""
        return self.cases.notable(self.session.state, item)

    def _is_notable_row(self, row: int) -> bool:
        return self.is_notable(self.source.item(row))

    @on(VirtualTable.Highlighted)
    def _moved(self) -> None:
        self.show_detail()

    def show_detail(self) -> None:
        """Draw the row under the cursor in full; where more became known of it, the place in it is kept."""
        if (item := self.under_cursor()) is None:
            self._shown = None
            self.detail.show(None)
        elif (key := self.key(item)) != self._shown:
            top, self._shown, self._shown_item = item != self._shown_item, key, item
            self.detail.show(lambda palette, width: self._drawn(item, palette, width), top, links=True)

    def key(self, item: Any) -> object:
        """What the detail depends on; another case begins with its last step."""
        if self.place(item) != self._step_of:
            self._step_of, self._step = self.place(item), None
        return item, self._step

    def _drawn(self, item: Any, palette: dict[str, Style], width: int) -> RenderableType:
        try:
            event = self.session.read(*self.place(item))
            return draw(self.cases.draw(event, self._case_source()), palette, width)
        except (OSError, SteerError) as error:
            return Text(str(error), palette["bad"])
        except LookupError:
            return Text("The log lacks an event that this would be drawn from.", palette["bad"])

    def _case_source(self) -> CaseSource:
        return CaseSource(self.session.run_dir, self.session.state, self.session.read, self._step)

    def under_cursor(self) -> Any | None:
        """The item under the cursor."""
        return self.source.at(self.table.cursor)

    def filter_by(self, text: str) -> None:
        """Apply a filter as if it had been typed, at once; the cursor goes to the first row."""

    def place(self, item: Any) -> LogPlace:
        """Where the event that an item is about stands in the log."""
        return item.place

    def counted(self) -> str:
        """How many rows there are."""
        return counted(len(self.source), self.source.noun)

    def about(self, column: Column) -> str:
        """What a column shows."""
        return f"{column.label}: {column.help}"

    def remark(self) -> str:
        """What all rows together say, for the line under them."""
        return self.cases.remark(self.session.state)

    @on(VirtualTable.Changed)
    def _changed(self) -> None:
        self.show_status()

    def show_status(self) -> None:
        """Say below the table what it shows."""
        table = self.table
        parts = [self.counted(), *filter(None, [self.remark()])]
        if table.search_words:
            parts.append(f"find {' '.join(table.search_words)}: n next, esc ends")
        if table.sort_column is not None:
            label = next(c.label for c in self.source.columns if c.key == table.sort_column)
            parts.append(f"sorted by {label} {'↓' if table.sort_reverse else '↑'}")
        elif table.follow and not self.table.over:
            parts.append("following")
        column, more = table.marked_column, [*parts, "← → explain a column"]
        if column is None and len(self.source) and len("  │  ".join(more)) <= table.size.width - 2:
            parts = more
        elif column is not None and column.help:
            parts.insert(0, self.about(column))
        self.line.set_class(column is not None, "-explains")
        self.line.update(Text("  │  ".join(parts)))

    on_resize = show_status

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
        was_searching = bool(self.table.search_words)
        self.table.look_for(())
        return was_searching

    # ------------------------------------------------------------ actions

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "step":
            return self.cases.steps is not None
        return bool(self.cases.notable_words) if action == "differ" else True

    def action_differ(self, by: int) -> None:
        """Go to the next or previous case worth seeing."""
        if not self.table.seek(by, self._is_notable_row):
            other = len(self.source) and self._is_notable_row(self.table.cursor)
            self.notify(f"There is no {'other ' if other else ''}{self.cases.notable_words}", markup=False)

    def action_beside(self, by: int) -> None:
        """The case in the row before or after."""
        self.table.go_to(self.table.cursor + by)

    def action_step(self, by: int) -> None:
        """The case a step earlier or later."""
        item = self.under_cursor()
        if item is None or self.cases.steps is None:
            return
        last = max(0, self.cases.steps(item) - 1)
        self._step = min(max((last if self._step is None else self._step) + by, 0), last)
        self.show()
        self.detail.call_later(self.detail.see_sign, "▶")  # once it is drawn

    def what_if(self, process: WhatIfProcess) -> WhatIfScreen | str:
        """The screen for another choice in this case, or why there is none."""
        if (item := self.under_cursor()) is None:
            return "No case is shown."
        try:
            event = self.session.read(*self.place(item))
        except (OSError, SteerError) as error:
            return str(error)
        what_if, of_event = choices_of_events()[type(event)]
        choice = of_event(event, self._case_source())
        return choice if isinstance(choice, str) else WhatIfScreen(process, what_if, choice)
