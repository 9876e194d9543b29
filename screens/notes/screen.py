"""The list of marks and notes, of one run or of many; from here one goes to what they are on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.getters import query_one
from textual.widgets import Static

from app.blocks.model_text import clean
from app.keys.commands import NOTES_LIST, bindings
from app.report.times import clock
from app.runs.notes import Entry, Notes, read_notes
from app.table.column import Cell, ListColumn
from app.wording.text import counted
from engine.errors import SteerError
from screens.console_screen import ConsoleScreen
from screens.item_marks import MARKED
from screens.messages import EventRequested
from screens.widgets.key_line import KeyLine
from screens.widgets.tables.rows import ListSource
from screens.widgets.tables.still_table import StillTable
from screens.widgets.tables.virtual_table import VirtualTable

_EMPTY = """Nothing is marked and nothing is written yet.

On the screen of a method, m marks the row under the cursor and ; writes a note on it. In the list
of runs and on the overview of a run, ; writes a note on the run."""


class NoteRow(NamedTuple):
    """A note, or a mark without a note."""

    run: Path
    entry: Entry
    marked: bool

    @property
    def on(self) -> str:
        """What it is on, in words."""
        return self.entry.item or ("the run" if self.entry.seq is None else f"event {self.entry.seq}")


_RUN = ListColumn[NoteRow]("run", "run", 25, flex=True, name=True,
                           value=lambda row: f"{row.run.parent.name}/{row.run.name}")  # fmt: skip
_COLUMNS: Sequence[ListColumn[NoteRow]] = (
    ListColumn("marked", MARKED, 1, help="marked", show=lambda marked: Cell(MARKED if marked else " ", "accent")),
    ListColumn("time", "time", 20, priority=2, value=lambda row: row.entry.time, show=clock),
    ListColumn("author", "by", 8, priority=1, flex=True, value=lambda row: row.entry.author),
    ListColumn("item", "on", 20, flex=True, name=True, value=lambda row: row.on),
    ListColumn("note", "note", 26, flex=True, value=lambda row: row.entry.text),
)  # fmt: skip


class NotesScreen(ConsoleScreen[None]):
    """The notes of these runs."""

    BINDINGS = bindings(NOTES_LIST)
    HELP = """\
# Marks and notes

What was marked (◆) or written down on a run and on its items. `enter` goes to the item. `del` takes the note back, or
the mark of a row without a note. They are kept in `notes.jsonl` in the run's folder, beside the log and never in it,
with the time and the name of the user who wrote them; others who work with this folder see them, too. Reports
(`steer-tui report RUN`) show all marked items with their notes.
"""
    DEFAULT_CSS = """
    NotesScreen {
        & #notes-title { height: 1; padding: 0 1; text-style: bold; background: $panel; }
        & VirtualTable { height: 1fr; }
        & #note-text { height: auto; min-height: 3; max-height: 40%; padding: 0 1; border-top: solid $panel; }
    }
    """

    table = query_one(VirtualTable)

    def __init__(self, runs: Sequence[Path]) -> None:
        super().__init__()
        self._runs = runs
        columns = (*_COLUMNS, _RUN) if len(runs) > 1 else _COLUMNS
        self._source: ListSource[NoteRow] = ListSource(columns, "notes")

    def compose_content(self) -> ComposeResult:
        yield Static(id="notes-title", markup=False)
        yield StillTable(self._source, _EMPTY)
        yield Static(id="note-text", markup=False)
        yield KeyLine()

    def on_mount(self) -> None:
        self.table.focus()
        self._read()

    def _read(self) -> None:
        rows, skipped = _rows(self._runs)
        self._source.show(rows)
        self.table.refresh_rows()
        one = "1 note" if rows and rows[0].entry.text else "1 mark"
        count = one if len(rows) == 1 else f"{len(rows):,} marks and notes"
        title = f"{count} on {counted(len(self._runs), 'runs')}"
        if skipped:
            title += f", {counted(skipped, 'lines')} that {'is' if skipped == 1 else 'are'} none"
        self.query_one("#notes-title", Static).update(title)
        self._show_text()

    @property
    def selected(self) -> NoteRow | None:
        """The note under the cursor."""
        return self._source.at(self.table.cursor)

    @on(VirtualTable.Highlighted)
    def _show_text(self) -> None:
        row = self.selected
        text = Text()
        if row is not None:
            text.append(f"{clean(row.on)}  ", "bold")
            text.append(f"{clean(row.entry.author)}, {clock(row.entry.time)}\n", "dim")
            text.append(clean(row.entry.text) or "marked")
        self.query_one("#note-text", Static).update(text)

    @on(VirtualTable.Selected)
    def _go(self) -> None:
        if (row := self.selected) is not None:
            self.dismiss()
            self.app.post_message(EventRequested(row.run, row.entry.seq))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return len(self._source) > 0 if action == "take_back" else True

    def action_take_back(self) -> None:
        """Take back the note, or the mark where there is no note."""
        if (row := self.selected) is None:
            return
        notes = Notes(row.run)
        try:
            notes.remove(row.entry) if row.entry.text else notes.toggle_mark(row.entry.seq, row.entry.item)
        except (OSError, SteerError) as error:
            self.notify(str(error), severity="error", markup=False)
        self._read()

    def action_close(self) -> None:
        """Back."""
        self.dismiss()


def _rows(runs: Sequence[Path]) -> tuple[list[NoteRow], int]:
    """The newest first; how many lines are no notes."""
    rows: list[NoteRow] = []
    skipped = 0
    for run in runs:
        written = read_notes(run)
        skipped += written.skipped
        noted = {note.seq for note in written.notes}
        rows += [NoteRow(run, note, note.seq in written.marks) for note in written.notes]
        rows += [NoteRow(run, mark, True) for seq, mark in written.marks.items() if seq not in noted]
    return sorted(rows, key=lambda row: row.entry.time, reverse=True), skipped
