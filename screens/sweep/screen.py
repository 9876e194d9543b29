"""A sweep: the table of its settings, and what the figures say."""

from __future__ import annotations

from pathlib import Path

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.getters import query_one
from textual.widgets import Static

from app.blocks.model_text import one_line
from app.keys.commands import SWEEP, bindings
from app.runs.sweeps import start_queue, stop_queue
from app.swept.columns import COLUMNS, SettingRow, setting_rows
from app.swept.progress import SweepProgress, progress_of
from app.swept.words import counts_words, left_words, progress_words, remarks, work_words
from engine.errors import SteerError
from engine.sweep.results import SweepReader, SweepResults
from engine.sweep.sweep import SweepFolder
from screens.console_screen import ConsoleScreen
from screens.messages import CompareRequested, RunRequested
from screens.panels.error_panel import ErrorPanel, Fault
from screens.widgets.key_line import KeyLine
from screens.widgets.tables.column_layout import fitted
from screens.widgets.tables.rows import ListSource
from screens.widgets.tables.still_table import StillTable
from screens.widgets.tables.virtual_table import VirtualTable

REFRESH_SECONDS = 1.0
_MOST_SETTING = 44


class SweepScreen(ConsoleScreen[None]):
    """The sweep in a folder, read again every second."""

    CSS_PATH = "screen.tcss"
    BINDINGS = bindings(SWEEP)
    HELP = """\
# A sweep

Each row is a setting: the values that it tries, what it reached over all its seeds, and how far that is from its
baseline on the same items, with the paired 95% interval: ▲ better, ▼ worse, ≈ no difference from the baseline is shown.
★ is the best setting; ☆ marks settings that cannot be told from it. A setting with one seed has its run's figures; one
with several has each item's mean over them. While the sweep works, ▶ says how much of a setting is
done, and its figures are those of its finished runs.

The lines below say what the figures cannot: how far two settings have to be apart to show with so many items, and by
how much the best of many looks too good. ESM's settings are compared on a development split where the data set has one;
the chosen setting then runs once on the configuration's own split, and that run is the result to report. The last line
counts how often each stage was done: stages of equal inputs are done once.

`enter` opens the setting's run. `steer-tui sweep --resume` with its folder goes on with a sweep, too.
"""

    table = query_one(StillTable)
    title_line = query_one("#sweep-title", Static)
    about = query_one("#sweep-about Static", Static)

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.reader = SweepReader(SweepFolder(folder))
        self.results: SweepResults | None = None
        self.source: ListSource[SettingRow] = ListSource(COLUMNS, "settings")
        self._reading = False

    def compose_content(self) -> ComposeResult:
        yield Static(id="sweep-title", markup=False)
        yield StillTable(self.source, "reading the sweep …", id="sweep-table")
        with VerticalScroll(id="sweep-about"):
            yield Static(markup=False)
        yield KeyLine()

    def on_mount(self) -> None:
        self.table.focus()
        self.set_interval(REFRESH_SECONDS, self.look)
        self.look()

    # ------------------------------------------------------------ reading

    def look(self) -> None:
        """Read the sweep again while this screen is shown."""
        if self.app.screen is self and not self._reading:
            self._reading = True
            self._read()

    @work(thread=True, group="sweep", exit_on_error=False)
    def _read(self) -> None:
        try:
            results = self.reader.read()
            progress = progress_of(results)
        except (SteerError, OSError) as error:
            self.app.call_from_thread(self._failed, str(error))
        else:
            self.app.call_from_thread(self.show_results, results, progress)
        finally:
            self._reading = False

    def _failed(self, text: str) -> None:
        self.table.empty = one_line(text)
        self.table.refresh_rows()
        self.about.update(self.table.empty)

    def show_results(self, results: SweepResults, progress: SweepProgress) -> None:
        """Draw these."""
        self.results = results
        rows = setting_rows(results, progress.shares)
        self.source.show(rows, fitted(COLUMNS, "setting", [row.name for row in rows], _MOST_SETTING))
        self.table.refresh_rows()
        self.title_line.update(_title(results, progress))
        lines = [*work_words(results, progress), *remarks(results), counts_words(results)]
        self.about.update(Text("\n").join(Text(line) for line in lines if line))
        self.refresh_bindings()

    # ------------------------------------------------------------ commands

    @property
    def selected(self) -> SettingRow | None:
        """The setting under the cursor."""
        return self.source.at(self.table.cursor)

    def _run_of(self, row: SettingRow | None) -> Path | None:
        """The setting's first run that has begun."""
        if row is None or self.results is None:
            return None
        begun = [point for point in row.result.points if point.run_id in self.results.runs]
        return self.reader.folder.run(begun[0]).path if begun else None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Whether the key does something now."""
        results = self.results
        match action:
            case "stop_sweep":
                return results is not None and results.alive
            case "resume_sweep":
                return results is not None and not results.alive and results.state != "finished"
            case "compare_best":
                row = self.selected
                return (
                    results is not None
                    and row is not None
                    and row.result.whole
                    and row.result is not results.best
                )
            case _:
                return True

    @on(VirtualTable.Selected)
    def _open(self) -> None:
        path = self._run_of(self.selected)
        if path is None:
            self.notify("This setting has not begun.")
        else:
            self.post_message(RunRequested(path, ""))

    def action_compare_best(self) -> None:
        """Compare this setting's run with the best one's."""
        rows = [self.source.item(at) for at in range(len(self.source))]
        best = self._run_of(next((row for row in rows if row.sign == "★"), None))
        this = self._run_of(self.selected)
        if best is not None and this is not None and this != best:
            self.post_message(CompareRequested((best, this)))

    def action_stop_sweep(self) -> None:
        """Stop the sweep and its runs."""
        if stop_queue(self.reader.folder.path):
            self.notify("The sweep stops: its runs end after their current item. r resumes it.")

    def action_resume_sweep(self) -> None:
        """Go on with the sweep."""
        try:
            start_queue(self.reader.folder.path)
        except (SteerError, OSError) as error:
            self.app.push_screen(ErrorPanel(Fault.of_error("The sweep was not resumed", error)))
        else:
            self.notify("The sweep goes on.")

    def action_back(self) -> None:
        """Close; the sweep goes on."""
        self.dismiss()


def _title(results: SweepResults, progress: SweepProgress) -> Text:
    title = Text().append(" sweep ", "bold reverse")
    state = "" if results.state == "finished" else results.state
    title.append(f"  {left_words(progress) if results.alive else state}", "bold")
    return title.append(f"  {progress_words(results)}").append(f"   {' '.join(results.record.specs)}", "dim")
