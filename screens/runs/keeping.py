"""Keeping runs in order: marks, notes, and the trash with its undo."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from app.runs.notes import Notes
from app.runs.run_list import RunList, RunRow
from app.runs.trash import Trashed, move_to_trash, restore
from engine.errors import SteerError
from screens.runs.listing import RunListing


class Keeping(RunListing):
    """The part of the list of runs that changes how runs are listed; the runs themselves are not touched."""

    def __init__(self, runs: RunList) -> None:
        super().__init__(runs)
        self.trashed: list[Trashed] = []

    @property
    def chosen(self) -> RunRow:
        """The run under the cursor, for keys that do nothing elsewhere."""
        assert self.selected is not None, "checked by check_action"
        return self.selected

    def action_mark(self) -> None:
        """Mark the run, and go on to the next."""
        self.source.toggle_mark(self.chosen.path)
        self.table.action_move(1)
        self.arranged()

    def action_note(self) -> None:
        """Ask for a note on the run."""
        from screens.noting import ask_for_note

        ask_for_note(self, Notes(self.chosen.path), None, "the run", self.chosen.title, self.look)

    def action_notes(self) -> None:
        """List the notes of the listed runs."""
        from screens.notes.screen import NotesScreen

        self.app.push_screen(NotesScreen([row.path for row in self.source.runs]))

    def action_trash(self) -> None:
        """Move the run to the trash."""
        row = self.chosen
        with self._errors_shown("The run was not moved"):
            self.trashed.append(move_to_trash(row.path))
            self.notify(f"{row.title} is in {self.trashed[-1].now}; u brings it back.", markup=False)
            self.refresh_bindings()
            self.look()

    def action_undo(self) -> None:
        """Bring the last run back from the trash."""
        moved = self.trashed[-1]
        with self._errors_shown("The run was not brought back"):
            restore(moved)
            self.trashed.pop()
            self.select(moved.was)
            self.refresh_bindings()
            self.look()

    @contextmanager
    def _errors_shown(self, title: str) -> Iterator[None]:
        """Show what goes wrong in a panel."""
        try:
            yield
        except (SteerError, OSError) as error:
            from screens.panels.error_panel import ErrorPanel, Fault

            self.app.push_screen(ErrorPanel(Fault.of_error(title, error)))
