"""Marking and noting the run, or the item of a run that is under the cursor; listing the notes."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import BindingType

from app.keys.commands import NOTING, bindings
from app.report.item_words import item_words
from app.report.times import clock
from app.runs.notes import LONGEST_TEXT
from engine.errors import SteerError
from engine.events import Event
from engine.run.find_event import event_at
from screens.console_screen import ConsoleScreen
from screens.item_marks import ItemMarks
from screens.messages import EventRequested
from screens.panels.ask import AskScreen
from screens.run_session import Session

_SHOWN = 3
"""Notes that the dialog shows above a new one."""


class NotingScreen(ConsoleScreen[None]):
    """Base of the screens of a run: `;` writes a note on what `noted_offset` names, `M` lists all notes of the run."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(NOTING)

    def __init__(self, session: Session, *, id: str | None = None) -> None:
        super().__init__(id=id)
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

        def keep(text: str | None) -> None:
            if text:
                self._change(lambda: self.marks.notes.add(seq, words, text))

        self.marks.read()
        known = self.marks.notes.written.of(seq)[-_SHOWN:]
        known_notes = "".join(f"{note.author}, {clock(note.time)}: {note.text[:200]}\n" for note in known)
        self.app.push_screen(
            AskScreen(f"A note on {words}", lambda text: known_notes + note_help(text)), keep
        )

    def action_mark_item(self) -> None:
        """Mark the row under the cursor, or take its mark away."""
        if (event := self.noted_event()) is None:
            self.notify("This row is not in the log: it cannot be marked. Press ; for a note on the run.")
            return
        self._change(lambda: self.marks.notes.toggle_mark(event.seq, item_words(event)))

    def action_notes(self) -> None:
        """List what was marked and written on this run."""
        from screens.notes.screen import NotesScreen

        def go(message: EventRequested | None) -> None:
            if message is not None:
                self.app.post_message(message)

        self.app.push_screen(NotesScreen([self.session.run_dir]), go)

    def _change(self, change) -> None:  # type: ignore[no-untyped-def]
        try:
            change()
        except (OSError, SteerError) as error:
            self.notify(str(error), title="Not kept", severity="error", markup=False)
        self.look_at_notes()


def note_help(text: str) -> str:
    """What enter does. Raises ValueError for a note that is too long."""
    if len(text) > LONGEST_TEXT:
        raise ValueError(f"a note has at most {LONGEST_TEXT:,} characters")
    return (
        "enter keeps it in notes.jsonl of the run"
        if text.strip()
        else "Type a note; it is kept beside the log."
    )
