"""Keeping runs in order: marks, groups, titles, tags, the archive, and the trash with its undo."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec.structs import replace

from app.runs.labels import Label, tags_of
from app.runs.notes import Notes
from app.runs.run_list import RunList, RunRow
from app.runs.trash import Trashed, move_to_trash, restore
from app.wording.text import counted
from engine.errors import SteerError
from screens.console_screen import ConsoleScreen
from screens.runs.source import GROUPINGS, RunSource
from screens.widgets.tables.virtual_table import VirtualTable


class Keeping(ConsoleScreen[None]):
    """The part of the list of runs that changes how runs are listed; the runs themselves are not touched."""

    def __init__(self, runs: RunList) -> None:
        super().__init__()
        self.runs = runs
        self.source = RunSource()
        self.read_once = False
        self.trashed: list[Trashed] = []

    @property
    def marked(self) -> list[Path]:
        """The marked runs, in the order in which they were marked."""
        return self.source.marked

    @property
    def selected(self) -> RunRow | None:
        """The run under the cursor."""
        raise NotImplementedError

    @property
    def chosen(self) -> RunRow:
        """The run under the cursor, for keys that do nothing elsewhere."""
        assert self.selected is not None, "checked by check_action"
        return self.selected

    def select(self, path: Path) -> None:
        """Put the cursor on a run, as soon as it is in the list."""
        raise NotImplementedError

    def look(self) -> None:
        """Read the runs again."""
        raise NotImplementedError

    def arranged(self) -> None:
        """The rows are others: draw them."""
        raise NotImplementedError

    def action_mark(self) -> None:
        """Mark the run, and go on to the next."""
        self.source.toggle_mark(self.chosen.path)
        self.query_one(VirtualTable).action_move(1)
        self.arranged()

    def action_note(self) -> None:
        """Ask for a note on the run."""
        from screens.noting import ask_for_note

        ask_for_note(self, Notes(self.chosen.path), None, "the run", self.chosen.title, self.look)

    def action_notes(self) -> None:
        """List the notes of the listed runs."""
        from screens.notes.screen import NotesScreen

        self.app.push_screen(NotesScreen([row.path for row in self.source.runs]))

    def action_group(self) -> None:
        """Other groups."""
        at = GROUPINGS.index(self.source.grouping)
        self.source.grouping = GROUPINGS[(at + 1) % len(GROUPINGS)]
        self.source.arrange()
        self.arranged()

    def action_list_archived(self) -> None:
        """List archived runs, too."""
        self.source.archived = not self.source.archived
        self.source.arrange()
        self.arranged()
        self.refresh_bindings()

    def action_archive(self) -> None:
        """Put a run aside, or list it again."""
        row = self.chosen
        aside = not row.label.archived
        self._label(row, replace(row.label, archived=aside))
        self.notify("Archived; A lists it again." if aside else "No longer archived.")

    def action_title(self) -> None:
        """Ask for a title."""
        row = self.chosen

        def describe(text: str) -> str:
            if text.strip():
                return f"The list shows this title instead of the name {row.record.name}."
            return f"Without a title the list shows the name, {row.record.name}."

        question = ("Title", describe, row.label.title, row.record.name)
        self._ask(question, lambda text: replace(row.label, title=text))

    def action_tags(self) -> None:
        """Ask for tags."""
        row = self.chosen

        def describe(text: str) -> str:
            if tags := tags_of(text):
                return f"{counted(len(tags), 'tags')}: {', '.join(tags)}"
            return "No tags. Separate tags by spaces."

        question = ("Tags", describe, " ".join(row.label.tags), "draft paper-figure")
        self._ask(question, lambda text: replace(row.label, tags=tags_of(text)))

    def _ask(
        self, question: tuple[str, Callable[[str], str], str, str], label: Callable[[str], Label]
    ) -> None:
        """Give the run under the cursor the label that the answer makes."""
        from screens.panels.ask import AskScreen  # dialogs are not imported before the first paint

        row = self.chosen
        self.app.push_screen(
            AskScreen(*question), lambda text: None if text is None else self._label(row, label(text))
        )

    def _label(self, row: RunRow, label: Label) -> None:
        with self._errors_shown("The label was not written"):
            self.runs.labels(row.path).put(row.path, label)
            self.call_after_refresh(self.look)

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
            self.show_error(title, error)

    def show_error(self, title: str, error: Exception) -> None:
        """In a panel that stays until it is closed."""
        from screens.panels.error_panel import ErrorPanel, Fault

        self.app.push_screen(ErrorPanel(Fault.of_error(title, error)))
