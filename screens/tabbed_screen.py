"""Screens of a run with tabs: switching them, copying a row, tables and pictures as files."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, cast

from textual import on
from textual.app import ComposeResult
from textual.getters import query_one
from textual.widget import Widget
from textual.widgets import ContentSwitcher

from app.blocks.block import Target, plain
from app.export import export_path, write_csv
from app.keys.commands import ENLARGE, GO_BACK, Command, bindings
from app.methods.pages import choices_of_events
from app.methods.place import Place
from app.runs.queries.what_if import WhatIfProcess
from app.wording.text import counted
from screens.console_screen import NARROWEST
from screens.panes.blocks import BlocksPane
from screens.panes.cases import CasesPane
from screens.panes.pane import Pane
from screens.run_screen import RunScreen
from screens.run_session import Session, reading_words, work_over
from screens.tab_views import place_in, restore_view, show_place, table_in, view_of
from screens.widgets.charts.chart import Chart
from screens.widgets.detail_pane import DetailPane
from screens.widgets.tab_line import Tab, TabLine
from screens.widgets.tables.virtual_table import VirtualTable

CASES = Tab("cases", "Cases")
STYLES = Path(__file__).with_name("tabbed_screen.tcss")
"""Of every screen with tabs; a subclass adds its own in `CSS_PATH`."""

COMMANDS = (
    Command("y", "copy", "Copy", "Copy the row under the cursor with RUN@EVENT, which opens it."),
    Command("e", "export", "CSV", "Write the table as it is shown to a CSV file in exports/ of the run."),
    Command(
        "w",
        "what_if",
        "What if",
        "Try another choice in place of the recorded one: a decision, deltas, a note, demonstrations, paths.",
    ),
    ENLARGE,
    GO_BACK,
    Command("escape", "pane_back", "Back", "Close what is open; else back to the overview.", display="esc"),
)


class Written(NamedTuple):
    """A table for a file. `noun`: what its rows are."""

    title: str
    noun: str
    header: Sequence[str]
    rows: Sequence[Sequence[object]]

    def write(self, run_dir: Path) -> str:
        """Write the file; how many rows are where."""
        path = export_path(run_dir, _file_name(self.title), ".csv")
        return f"{counted(write_csv(path, self.header, self.rows), self.noun)} in {path}"


class TabbedScreen(RunScreen):
    """Base of the methods' screens. A subclass gives `TABS`; `KINDS`, of which the tab Cases shows one at a time; what
    each of both holds, in `make`; and `STAGE_TABS`: by stage, the tab or kind in which its work is seen."""

    HORIZONTAL_BREAKPOINTS = [(0, "-tiny"), (NARROWEST, "-narrow"), (150, "-wide")]
    BINDINGS = bindings(COMMANDS)
    CSS_PATH = [STYLES]
    ALLOW_IN_MAXIMIZED_VIEW = "KeyLine"
    TABS: Sequence[Tab] = ()
    KINDS: Sequence[str] = ()
    STAGE_TABS: Mapping[str, str] = {}

    kind = ""
    """The kind that the tab Cases shows."""

    tabs = query_one("#tabs", TabLine)
    switcher = query_one(ContentSwitcher)
    _chosen = False
    left_view: Mapping[str, Any] | None = None
    """How the screen was left, to be restored."""
    pending_place: Place | None = None
    """What to open once its rows are there."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._history: list[Place] = []
        """Where ids were followed from; the newest is the next to come back to."""
        self._what_if: WhatIfProcess | None = None

    def make(self, name: str) -> Pane:
        """The content of a tab, or a kind of cases, of this name; its id is the name."""
        raise NotImplementedError

    def _names(self, tab: Tab) -> Sequence[str]:
        """What a tab can show."""
        return self.KINDS if tab.id == CASES.id else [tab.id]

    def place_of(self, target: Target) -> Place | None:
        """Where an id leads; None if it is not there. A subclass knows its kinds."""
        return None

    def compose_body(self) -> ComposeResult:
        yield TabLine(self.TABS, id="tabs")
        if len(self.KINDS) > 1:
            kinds = [Tab(name, name.capitalize()) for name in self.KINDS]
            yield TabLine(kinds, hint="1 the next kind", id="kinds")
        names = [name for tab in self.TABS for name in self._names(tab)]
        with ContentSwitcher(initial=names[0]):
            yield from map(self.make, names)

    def on_mount(self) -> None:
        self._show_kind(self.shown_name)
        self._focus_content()

    @property
    def pane(self) -> Pane:
        """What is visible: a tab's content, or the kind of cases that its tab shows."""
        return cast(Pane, self.switcher.visible_content)

    @property
    def shown_name(self) -> str:
        """The name of what is visible."""
        return str(self.pane.id)

    def show(self) -> None:
        """Draw the session's state."""
        if not self._chosen:
            self._go_with_the_stage()
        if (table := self._table()) is not None:
            table.waiting = reading_words(self.session)
            table.set_over(work_over(self.session, self.STAGE_TABS))
        self.pane.show()
        self._restore()

    def _go_with_the_stage(self) -> None:
        """Show the tab of the current stage, until the user chooses a tab or leaves the newest row."""
        stage, table = self.session.state.active_stage, self._table()
        name = self.STAGE_TABS.get(stage.name) if stage is not None else None
        if name is not None and name != self.shown_name and (table is None or table.untouched):
            self._show_named(name)

    # ------------------------------------------------------------ left and restored

    def view(self) -> dict[str, Any]:
        """How the screen is left."""
        over = work_over(self.session, self.STAGE_TABS)
        panes = {pane.id: view_of(pane, over) for pane in self.query(Pane)}
        return {"tab": self.shown_name, "chosen": self._chosen, "panes": panes}

    def open_place(self, place: Place) -> None:
        """Show a place, as soon as it is there."""
        self.left_view = None
        self.pending_place = None if self.look_at(place) else place

    def _restore(self) -> None:
        """What was left or is requested, in the tab that is shown; rows may come later."""
        if (place := self.pending_place) is not None:
            self.pending_place = None
            self.open_place(place)
        elif (left := self.left_view) is not None:
            self._restore_tabs(left)

    def _restore_tabs(self, left: Mapping[str, Any]) -> None:
        if left["chosen"] and not self._chosen:
            self._chosen = True
            self._show_named(left["tab"])
            self.pane.show()
        name = self.shown_name
        kept = left["panes"].get(name)
        if kept is not None and restore_view(self.pane, kept):
            self.left_view = {**left, "panes": {k: v for k, v in left["panes"].items() if k != name}}

    def on_key(self) -> None:
        """A key cancels a jump that still waits for its rows."""
        self.pending_place = None

    # ------------------------------------------------------------ actions

    def action_tab(self, index: int) -> None:
        """Show a tab; the tab Cases again: its next kind."""
        names = self._names(self.TABS[index])
        if index == self.tabs.active:
            self.action_named(names[(names.index(self.shown_name) + 1) % len(names)])
        else:
            self.action_named(self.TABS[index].id)

    def _show_named(self, name: str) -> bool:
        """Show a tab or a kind of cases; whether there is one of this name."""
        name = self.kind if name == CASES.id else name
        for index, tab in enumerate(self.TABS):
            if name in self._names(tab):
                self.minimize()
                self.tabs.active = index
                self.switcher.current = name
                self._show_kind(name)
                self._focus_content()
                return True
        return False

    def _show_kind(self, name: str) -> None:
        """In the line of the kinds, where there are several; that line belongs to the tab Cases alone."""
        self.kind = name if name in self.KINDS else self.kind
        for line in self.query("#kinds").results(TabLine):
            line.active = self.KINDS.index(self.kind)
            line.set_class(name not in self.KINDS, "-away")

    def action_named(self, name: str) -> bool:
        """Show a tab or a kind of cases because it was asked for; whether there is one of this name."""
        self._chosen = True
        self.following = False
        if shown := self._show_named(name):
            self.show()
        return shown

    def _focus_content(self) -> None:
        content = self.pane
        focusable: list[Widget] = [*content.query(VirtualTable), *content.query(DetailPane)]
        widget = next((widget for widget in focusable if widget.focusable), None)
        if widget is not None:
            widget.focus()

    @on(TabLine.Chosen)
    def _tab_clicked(self, message: TabLine.Chosen) -> None:
        if message.tab in self.TABS:
            self.action_tab(self.TABS.index(message.tab))
        else:
            self.action_named(message.tab.id)

    async def action_pane_back(self) -> None:
        """Step back inside the tab, else leave."""
        if not self.pane.close_one():
            await self.run_action("app.up")

    def names_of_actions(self) -> dict[str, str]:
        tabs = {f"tab({number})": tab.label for number, tab in enumerate(self.TABS)}
        return super().names_of_actions() | tabs

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        match action:
            case "enlarge":
                return self.is_mounted and bool(self.pane.query(Chart))
            case "tab":
                return parameters[0] in range(len(self.TABS))
            case "go_back":
                return bool(self._history)
            case "what_if":
                return self.is_mounted and self._cases_with_choices() is not None
            case _:
                return super().check_action(action, parameters)

    # ------------------------------------------------------------ marks and notes

    def noted_offset(self) -> int | None:
        table = self._table() if self.is_mounted else None
        if table is None or not len(table.source):
            return None
        return table.source.offset(min(table.cursor, len(table.source) - 1))

    def show_marks(self) -> None:
        for table in self.query(VirtualTable):
            table.signs = self.marks.signs
            table.refresh()

    def action_export_item(self) -> None:
        """Write the item under the cursor as Markdown and as HTML."""
        if (event := self.noted_event()) is not None:
            self.marks.notes.read()
            from screens.exports import write_item  # only those who export need it

            self.write_files(partial(write_item, self.session, event, self.marks.notes.written.of(event.seq)))

    # ------------------------------------------------------------ ids: going there and coming back

    @on(DetailPane.Followed)
    def _followed(self, message: DetailPane.Followed) -> None:
        message.stop()
        self.follow(message.target)

    def follow(self, target: Target) -> None:
        """Go to an id; `action_go_back` comes back."""
        place = self.place_of(target)
        if place is None:
            self.notify(f"There is no {target.kind} {target.name} at this moment of the run.", markup=False)
            return
        self._history.append(place_in(self.shown_name, self.pane))
        self.open_place(place)
        self.refresh_bindings()

    def action_go_back(self) -> None:
        """Back to where an id was followed."""
        self.open_place(self._history.pop())
        self.refresh_bindings()

    def look_at(self, place: Place) -> bool:
        """Show a tab with its filter and the cursor on a row; False while the row is not there."""
        if not self.action_named(place.tab):
            return True
        content, table = self.pane, self._table()
        if not show_place(content, place):
            return False
        if content.has_class("-open") != place.open and table is not None and len(table.source):
            self.pane.close_one() if content.has_class("-open") else table.action_select()
        return True

    # ------------------------------------------------------------ what if

    def _cases_with_choices(self) -> CasesPane | None:
        pane = self.pane
        return pane if isinstance(pane, CasesPane) and pane.cases.event in choices_of_events() else None

    def action_what_if(self) -> None:
        """Try another choice in the place of the one under the cursor."""
        if (cases := self._cases_with_choices()) is None:
            return
        self._what_if = self._what_if or WhatIfProcess(self.session.run_dir)
        asked = cases.what_if(self._what_if)
        if isinstance(asked, str):
            self.notify(asked, markup=False)
        else:
            self.app.push_screen(asked)

    async def on_unmount(self) -> None:
        if self._what_if is not None:
            await self._what_if.close()

    # ------------------------------------------------------------ charts and files

    def action_enlarge(self) -> None:
        """Show the tab's charts on the whole screen, or no longer."""
        for charts in self.pane.query(".charts"):
            self._enlarge(charts)

    @on(Chart.Opened)
    def _chart_clicked(self, message: Chart.Opened) -> None:
        self._enlarge(message.chart)

    def _enlarge(self, charts: Widget) -> None:
        if not any(chart.series for chart in self.pane.query(Chart)):
            self.notify("There is nothing to draw yet.")
            return
        self.maximized = charts if self.maximized is None else None

    def action_copy(self) -> None:
        """Copy the row under the cursor with RUN@EVENT, which opens it."""
        table = self._table()
        if table is None or not len(table.source):
            self.notify("This tab has no row to copy.")
            return
        labels = [column.label for column in table.source.columns]
        cells = [cell.text for cell in table.source.cells(table.cursor)]
        text = "  ".join(f"{label}={cell}" for label, cell in zip(labels, cells, strict=True) if cell.strip())
        if (event := self.noted_event()) is not None:
            text += f"  {self.session.run_dir}@{event.seq}"
        self.app.copy_to_clipboard(text)
        self.notify(f"Copied: {text[:60]}…" if len(text) > 60 else f"Copied: {text}", markup=False)

    def action_export(self) -> None:
        """Write the table, as it is filtered and sorted, as CSV."""
        written = self._tables()
        if not written:
            self.notify("This tab has no rows to export.")
            return
        run_dir = self.session.run_dir
        self.write_files(lambda: [each.write(run_dir) for each in written], "CSV written")

    def _tables(self) -> list[Written]:
        """The tables of the tab, as they are shown."""
        if isinstance(self.pane, BlocksPane):
            return [
                Written(t.caption or t.header[0], "rows", t.header, [list(map(plain, row)) for row in t.rows])
                for t in self.pane.tables()
            ]
        table = self._table()
        if table is None or not len(table.source):
            return []
        source = table.source
        rows = [source.values(row) for row in range(len(source))]
        return [Written(source.noun, source.noun, [column.key for column in source.columns], rows)]

    def _table(self) -> VirtualTable | None:
        return table_in(self.pane)


def _file_name(title: str) -> str:
    """`best-known-pair-of-a-pool`: the beginning of a table's title."""
    return "-".join(re.findall(r"[a-z0-9]+", title.partition(",")[0].lower())) or "table"
