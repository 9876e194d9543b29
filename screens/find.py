"""`/` where a table has no filter of its own: a line that finds rows by their words; without a table on a run's screen,
the search over all methods.

Where nothing is searched the line says so and still takes what is typed: a letter of a word is never a command.
"""

from __future__ import annotations

from typing import Any

from textual.binding import Binding
from textual.screen import Screen

from screens.panels.ask import AskScreen
from screens.run_screen import RunScreen
from screens.widgets.tables.virtual_table import VirtualTable

_NOTHING = "There is nothing to find here: esc closes this line."
_HOW = "⏎ next row with these words · then n next, N previous · esc ends"


def find_on(screen: Screen[Any]) -> None:
    """Ask for words, and find them in the table that `screen` shows, else in all methods of its run."""
    shown = [screen.focused, *screen.focus_chain]
    table = next((it for it in shown if isinstance(it, VirtualTable)), None)
    if table is None and isinstance(screen, RunScreen):
        screen.action_search()
    else:
        screen.app.push_screen(FindScreen(table))


class FindScreen(AskScreen):
    """A line at the bottom. `table`: whose rows are searched; None where there is none on the screen."""

    BINDINGS = [
        Binding("enter", "accept", "Go there", tooltip="Go to the next row with these words.", priority=True),
        Binding("escape", "close", "Close", tooltip="Close the line; nothing is marked."),
    ]
    DEFAULT_CSS = """
    FindScreen {
        background: transparent;
        align: left bottom;
        &.-text > Vertical { width: 100%; max-width: 100%; padding: 0; }
        & Static { margin-top: 0; }
    }
    """

    def __init__(self, table: VirtualTable | None) -> None:
        noun, words = ("", ()) if table is None else (table.source.noun, table.search_words)
        super().__init__(f"Find {noun}", self._mark, " ".join(words))
        self._table = table

    def on_mount(self) -> None:
        self.input.action_select_all()

    def _mark(self, text: str) -> str:
        """Mark the rows in view; the others are searched when enter is pressed."""
        if self._table is None:
            return _NOTHING
        self._table.look_for(text.split())
        return _HOW

    def action_accept(self) -> None:
        """Go to the row, or say that there is none."""
        table = self._table
        if table is None or not self.input.value.strip():
            self.action_close()
        elif table.is_match(table.cursor) or table.seek(1, table.is_match):
            self.dismiss()
        else:
            table.look_for(())
            self.say(f"None of these {table.source.noun} has these words.", wrong=True)

    def action_close(self) -> None:
        """Find nothing."""
        if self._table is not None:
            self._table.look_for(())
        self.dismiss()
