"""Episodic steering memory, live or replayed: every decision, what it was taken from, and what came of it."""

from __future__ import annotations

from typing import ClassVar, Protocol, cast

from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.getters import query_one
from textual.widget import Widget
from textual.widgets import ContentSwitcher

from app.commands import Command, bindings
from app.decision_rows import DECISION_FIELDS
from app.export import export_path, write_csv
from engine.errors import SteerError
from screens.console_screen import NARROWEST
from screens.panes.decisions import DecisionsPane
from screens.panes.files import FilesPane
from screens.panes.lists import LibraryPane, PairsPane
from screens.panes.results import ResultsPane
from screens.run_screen import RunScreen
from screens.widgets.detail_pane import DetailPane
from screens.widgets.tab_line import Tab, TabLine
from screens.widgets.virtual_table import VirtualTable

TABS = [
    Tab("decisions-pane", "Decisions"),
    Tab("pairs-pane", "Pairs"),
    Tab("library-pane", "Library"),
    Tab("results-pane", "Results"),
    Tab("files-pane", "Files"),
]
STAGE_TABS = {"mine": 1, "select": 2, "eval": 0}
"""Where the work of a stage is seen."""
COMMANDS = (
    *(
        Command(str(i + 1), f"tab({i})", tab.label, f"Show the tab {tab.label}.", shown=False)
        for i, tab in enumerate(TABS)
    ),
    Command("y", "copy", "Copy", "Copy the row under the cursor, with the place of its event in the log."),
    Command("e", "export", "CSV", "Write the table, as it is filtered and sorted, as a CSV file."),
    Command("escape", "pane_back", "Back", "Close what is open, else leave.", display="esc"),
)


class Pane(Protocol):
    """A tab's content."""

    def show(self) -> None:
        """Draw the session's state."""
        ...

    def close_one(self) -> bool:
        """Step back inside the pane; False if there was nothing to close."""
        ...


class EsmScreen(RunScreen):
    """The ESM screen of one run."""

    CSS_PATH = "esm.tcss"
    TITLE_WORD = "ESM"
    HORIZONTAL_BREAKPOINTS = [(0, "-tiny"), (NARROWEST, "-narrow"), (150, "-wide")]
    BINDINGS: ClassVar[list[BindingType]] = bindings(COMMANDS)
    HELP = """\
# Episodic steering memory

Decisions of the controller as they are taken, the pairs and entries they stand on, and what came of them.

In *Decisions* `/` filters (or finds: `tab` in the filter line), `d` goes to the next example that came out
otherwise than under greedy, `enter` opens the decision, `←` `→` then go through them.
`enter` on a method in *Results* shows the decisions of the examples in which it differs from greedy.

Filters: `correct and alpha>0.5`, `chosen:null`, `method:esm m:2..4`, `not correct gate!=tau_null`, `score:none`,
`chosen:wrong-00*`, `question~apples`; plain words look into names and questions. The fields:

""" + "\n".join(f"- `{field.name}` {field.help}" for field in DECISION_FIELDS.values())

    tabs = query_one(TabLine)
    switcher = query_one(ContentSwitcher)
    decisions = query_one(DecisionsPane)
    _chosen = False

    def compose_body(self) -> ComposeResult:
        yield TabLine(TABS)
        with ContentSwitcher(initial=TABS[0].id):
            yield DecisionsPane(self.session, id="decisions-pane")
            yield PairsPane(self.session, id="pairs-pane")
            yield LibraryPane(self.session, id="library-pane")
            yield ResultsPane(self.session, id="results-pane")
            yield FilesPane(self.session, id="files-pane")

    def on_mount(self) -> None:
        self.decisions.table.focus()

    @property
    def pane(self) -> Pane:
        """The visible tab's content."""
        return cast(Pane, self.switcher.visible_content)

    @property
    def busy(self) -> bool:
        return self.decisions.busy

    def show(self) -> None:
        """Draw the session's state."""
        state = self.session.state
        for tab, count in zip(TABS, (state.decisions, state.pairs, state.picks, state.methods), strict=False):
            self.tabs.count(tab.id, f"{len(count):,}")
        if not self._chosen:
            self._go_with_the_stage()
        self.pane.show()

    def _go_with_the_stage(self) -> None:
        """Until somebody chooses a tab or leaves the newest row: the tab on which something happens now."""
        stage, table = self.session.state.active_stage, self._table()
        tab = STAGE_TABS.get(stage.name) if stage is not None else None
        if tab is not None and tab != self.tabs.active and (table is None or table.follow):
            self._show_tab(tab)

    # ------------------------------------------------------------ actions

    def action_tab(self, index: int) -> None:
        """Show a tab."""
        self._chosen = True
        self._show_tab(index)
        self.show()

    def _show_tab(self, index: int) -> None:
        self.tabs.active = index
        self.switcher.current = TABS[index].id
        content = cast(Widget, self.pane)
        focusable: list[Widget] = [*content.query(VirtualTable), *content.query(DetailPane)]
        next(widget for widget in focusable if widget.focusable).focus()

    @on(TabLine.Chosen)
    def _tab_clicked(self, message: TabLine.Chosen) -> None:
        self.action_tab(message.index)

    @on(ResultsPane.DecisionsWanted)
    def _decisions_wanted(self, message: ResultsPane.DecisionsWanted) -> None:
        self.action_tab(0)
        self.decisions.filter_by(message.filter)

    def action_pane_back(self) -> None:
        """Step back inside the tab, else leave."""
        if not self.pane.close_one():
            self.action_detach()

    def action_copy(self) -> None:
        """Copy the row under the cursor, with the place of its event in the log."""
        table = self._table()
        if table is None or not len(table.source):
            self.notify("There is no row to copy.")
            return
        labels = [column.label for column in table.source.columns]
        cells = [cell.text for cell in table.source.cells(table.cursor)]
        text = "  ".join(f"{label}={cell}" for label, cell in zip(labels, cells, strict=True) if cell.strip())
        if (offset := table.source.offset(table.cursor)) is not None:
            text += f"  {self.session.run_dir / 'events.jsonl'}@{offset}"
        self.app.copy_to_clipboard(text)
        self.notify(f"Copied: {text[:60]}…" if len(text) > 60 else f"Copied: {text}", markup=False)

    def action_export(self) -> None:
        """Write the table, as it is filtered and sorted, as CSV."""
        table = self._table()
        if table is None or not len(table.source):
            self.notify("There is no table to export here yet.")
            return
        header = [column.key for column in table.source.columns]
        rows = [table.source.values(row) for row in range(len(table.source))]
        self._write(table.source.noun, header, rows)

    @work(thread=True, exclusive=True, group="export", exit_on_error=False)
    def _write(self, noun: str, header: list[str], rows: list) -> None:
        try:
            path = export_path(self.session.run_dir, noun, ".csv")
            count = write_csv(path, header, rows)
        except (OSError, SteerError) as error:
            self.notify(f"The table was not written: {error}", severity="error", markup=False)
            return
        self.notify(f"{count:,} {noun} in {path}", title="CSV written", markup=False)

    def _table(self) -> VirtualTable | None:
        tables = cast(Widget, self.pane).query(VirtualTable)
        return tables.first() if tables else None
