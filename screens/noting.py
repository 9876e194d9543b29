"""Marking and noting the run, or the item of a run that is under the cursor; listing the notes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from textual.screen import Screen

from app.keys.commands import NOTING, bindings
from app.report.item_words import item_words
from app.report.times import clock
from app.runs.notes import LONGEST_TEXT, Notes
from engine.errors import SteerError
from engine.events import Event
from engine.run.find_event import event_at
from screens.console_screen import ConsoleScreen
from screens.item_marks import ItemMarks
from screens.notes.screen import NotesScreen
from screens.panels.ask import AskScreen
from screens.run_session import Session

_SHOWN = 3
"""Notes that the dialog shows above a new one."""


class NotingScreen(ConsoleScreen[None]):
    """Base of the screens of a run: `;` writes a note on what `noted_offset` names, `M` lists all notes of the run."""

    BINDINGS = bindings(NOTING)

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session = session
        self.marks = ItemMarks(session.run_dir)

    def noted_offset(self) -> int | None:
        """Where the event of the item under the cursor begins in the log; None: the run as a whole."""
        return None

    def noted_event(self) -> Event | None:
        """The event of the item under the cursor."""
        offset = self.noted_offset()
        try:
            return None if offset is None else event_at(self.session.run_dir / "events.jsonl", offset)
        except (OSError, SteerError) as error:
            self.notify(str(error), severity="error", markup=False)
            return None

    def show_marks(self) -> None:
        """Draw the signs of marked rows."""

    def look_at_notes(self) -> None:
        """Take in what this and other consoles wrote."""
        if self.marks.read():
            self.show_marks()

    def action_note(self) -> None:
        """Ask for a note and keep it."""
        event = self.noted_event()
        seq, words = (None, "the run") if event is None else (event.seq, item_words(event))
        ask_for_note(self, self.marks.notes, seq, words, words, self.look_at_notes)

    def action_mark_item(self) -> None:
        """Mark the row under the cursor, or take its mark away."""
        if (event := self.noted_event()) is None:
            self.notify("This row is not in the log: it cannot be marked. Press ; for a note on the run.")
            return
        change_notes(self, lambda: self.marks.notes.toggle_mark(event.seq, item_words(event)))
        self.look_at_notes()

    def action_notes(self) -> None:
        """List what was marked and written on this run."""
        self.app.push_screen(NotesScreen([self.session.run_dir]))


def ask_for_note(
    screen: Screen[Any], notes: Notes, seq: int | None, item: str, about: str, then: Callable[[], None]
) -> None:
    """Ask for a note on the item of an event (None: on the run), keep it, and do `then`. `about`: what the dialog calls
    the item; it shows the last notes on it."""

    def keep(text: str | None) -> None:
        if text:
            change_notes(screen, lambda: notes.add(seq, item, text))
            then()

    notes.read()
    known = "".join(
        f"{note.author}, {clock(note.time)}: {note.text[:200]}\n" for note in notes.written.of(seq)[-_SHOWN:]
    )
    screen.app.push_screen(AskScreen(f"A note on {about}", lambda text: known + note_help(text)), keep)


def change_notes(screen: Screen[Any], change: Callable[[], object]) -> None:
    """Make a change; the user is notified where it cannot be kept."""
    try:
        change()
    except (OSError, SteerError) as error:
        screen.notify(str(error), title="Not kept", severity="error", markup=False)


def note_help(text: str) -> str:
    """What enter does. Raises ValueError for a note that is too long."""
    if len(text) > LONGEST_TEXT:
        raise ValueError(f"a note has at most {LONGEST_TEXT:,} characters")
    if not text.strip():
        return "Type a note; it is kept beside the log."
    return "enter keeps it in notes.jsonl of the run"
