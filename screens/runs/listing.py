"""The list of runs on the screen: read again every second, filtered, with what is known of the run under the cursor."""

from __future__ import annotations

from pathlib import Path

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.getters import query_one

from app.runs.run_list import RunList, RunRow
from app.wording.text import counted
from screens.console_screen import ConsoleScreen
from screens.runs.about import about_group, about_run
from screens.runs.run_filter import RUN_FIELDS
from screens.runs.source import RunSource
from screens.widgets.filter_bar import NO_ROW, FilterBar
from screens.widgets.key_line import KeyLine
from screens.widgets.lazy_static import LazyStatic
from screens.widgets.tables.still_table import StillTable
from screens.widgets.tables.virtual_table import VirtualTable

REFRESH_SECONDS = 1.0
EMPTY = """\
No run yet.

Press +, then enter: the demo starts.

It needs no GPU, no key and no network: you watch how small built-in language models are steered.

Press ? on any screen for its help.
"""
NO_MATCH = NO_ROW.format("run")


class RunListing(ConsoleScreen[None]):
    """All runs below the outputs folder, read again every second."""

    # Textual does not read CSS_PATH of an app's default screen.
    DEFAULT_CSS = """
    RunListing {
        & #runs-title { height: 1; background: $panel; text-wrap: nowrap; text-overflow: ellipsis; }
        & StillTable { height: 1fr; }
        & #runs-about {
            height: auto;
            min-height: 3;
            max-height: 9;
            padding: 0 1;
            text-wrap: nowrap;
            text-overflow: ellipsis;
            background: $surface;
            border-top: solid $panel;
            &.-empty { display: none; }
        }
    }
    """
    table = query_one(StillTable)
    title_line = query_one("#runs-title", LazyStatic)
    about = query_one("#runs-about", LazyStatic)

    bar = query_one(FilterBar)

    def __init__(self, runs: RunList) -> None:
        super().__init__()
        self.runs = runs
        self.source = RunSource()
        self.read_once = False
        self._offered: object = None
        self._reading = False
        self._to_select: Path | None = None
        self._filter_text = ""
        self._warned: list[str] = []

    def compose_content(self) -> ComposeResult:
        yield LazyStatic(id="runs-title")
        yield StillTable(self.source, "", id="runs-table")
        yield FilterBar(RUN_FIELDS, "gain>0   state:failed   config~gsm8k   demo")
        yield LazyStatic(id="runs-about")
        yield KeyLine()

    def on_mount(self) -> None:
        self.table.focus()
        self._show_title()
        self.set_interval(REFRESH_SECONDS, self.look)
        self.call_after_refresh(self.look)

    def on_screen_resume(self) -> None:
        self.look()

    def select(self, path: Path) -> None:
        """Put the cursor on a run, as soon as it is in the list."""
        self._to_select = path.absolute()
        self._go_to_selected()

    def _go_to_selected(self) -> None:
        if self._to_select is None:
            return
        rows = range(len(self.source))
        runs = {run.path.absolute(): row for row in rows if (run := self.source.run(row)) is not None}
        if self._to_select in runs:
            self.table.go_to(runs[self._to_select])
            self._to_select = None

    def look(self) -> None:
        """Read the runs again while this screen is shown."""
        if self.app.screen is self and not self._reading:  # `is_current` holds for a covered screen, too
            self._reading = True
            self._read()

    @work(thread=True, group="runs", exit_on_error=False)
    def _read(self) -> None:
        try:
            rows = self.runs.read()
        finally:
            self._reading = False
        self.app.call_from_thread(self.show_runs, rows)

    def show_runs(self, rows: list[RunRow]) -> None:
        """Draw these runs."""
        self.read_once = True
        if rows != self.source.rows or not rows:
            self.source.show_runs(rows)
            self.arranged()
        self._show_about()
        self._show_title()
        for wrong in map(str, list(self.runs.unreadable.values())):
            if wrong not in self._warned:
                self._warned.append(wrong)
                self.notify(wrong, title="A run is not listed", severity="warning", markup=False, timeout=10)

    def arranged(self) -> None:
        """The rows are others: the filter, the order, a mark or the runs themselves have changed."""
        self.table.empty = NO_MATCH if self.source.rows else EMPTY
        self.table.refresh_rows()
        self._go_to_selected()
        self._show_title()
        self._show_about()

    @property
    def selected(self) -> RunRow | None:
        """The run under the cursor."""
        return self.source.run(self.table.cursor)

    # ------------------------------------------------------------ drawing

    def _show_title(self) -> None:
        rows, marked = self.source.rows, self.source.marked
        working = sum(row.working for row in rows)
        count = counted(len(rows), "runs")
        text = Text().append(" steer-tui ", "bold reverse")
        text.append(f"  {count if self.read_once else 'reading …'}", "bold")
        # While one types, it stands there, valid or not.
        filter_text = "" if self.bar.has_class("-open") else self._filter_text
        parts = [
            f"▶ {working} running" if working else "",
            f"filter {filter_text}: {len(self.source.runs)}" if filter_text else "",
            f"{len(marked)} marked" if marked else "",
            f"{counted(len(self.runs.unreadable), 'runs')} not readable" if self.runs.unreadable else "",
        ]
        for part in filter(None, parts):
            text.append(f"   {part}", "bold")
        text.append("   in " + ", ".join(map(_shown, self.runs.folders)))
        self.title_line.update(text)

    def _show_about(self) -> None:
        row, group = self.selected, self.source.group(self.table.cursor)
        self.about.set_class(row is None and group is None, "-empty")
        if row is not None:
            self.about.update(about_run(row, self.about.content_size.width or 1000))
        elif group is not None:
            self.about.update(about_group(group))
        sweep = self.source.sweep(self.table.cursor)
        offered = (row.state, row.status.failure, row.record.sweep) if row is not None else sweep
        if offered != self._offered:
            self._offered = offered
            self.refresh_bindings()

    @on(VirtualTable.Highlighted)
    def _highlighted(self) -> None:
        self._show_about()

    # ------------------------------------------------------------ the filter

    def action_filter(self) -> None:
        """Open the filter's line."""
        self.bar.open()

    def action_back(self) -> None:
        """Remove the filter."""
        self.bar.clear()

    @on(FilterBar.Changed)
    def _filtered(self, message: FilterBar.Changed) -> None:
        self._filter_text = message.text
        if message.expression != self.source.expression:
            self.source.expression = message.expression
            self.source.arrange()
        self.arranged()
        self.bar.show_count(counted(len(self.source.runs), "runs"))
        self.refresh_bindings()

    @on(FilterBar.Closed)
    def _filter_closed(self) -> None:
        self.table.focus()


def _shown(folder: Path) -> str:
    if folder.exists() and not folder.is_dir():
        return f"{folder} (this is a file, not a folder)"
    return f"{folder}/" + ("" if folder.exists() else " (there is no such folder yet)")
