"""`/` where a table has no filter of its own: a line that finds rows by their words; without a table on a run's screen,
the search over all methods.

Where nothing is searched the line says so and still takes what is typed: a letter of a word is never a command.
"""

from __future__ import annotations

from typing import Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.getters import query_one
from textual.screen import ModalScreen, Screen
from textual.widgets import Input, Static

from screens.run_screen import RunScreen
from screens.widgets.tables.virtual_table import VirtualTable

_NOTHING = "There is nothing to find here: esc closes this line."
_HOW = "find: ⏎ next row with these words · then n next, N previous · esc none"


def find_on(screen: Screen[Any]) -> None:
    """Ask for words, and find them in the table that `screen` shows, else in all methods of its run."""
    shown = [screen.focused, *screen.focus_chain]
    table = next((it for it in shown if isinstance(it, VirtualTable)), None)
    if table is None and isinstance(screen, RunScreen):
        screen.action_search()
    else:
        screen.app.push_screen(FindScreen(table))


class FindScreen(ModalScreen[None]):
    """A line at the bottom. `table`: whose rows are searched; None where there is none on the screen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        # With priority, since the field has a hidden enter of its own.
        Binding("enter", "accept", "Go there", tooltip="Go to the next row with these words.", priority=True),
        Binding("escape", "close", "Close", tooltip="Close the line; nothing is marked."),
    ]
    DEFAULT_CSS = """
    FindScreen {
        background: transparent;
        align: left bottom;
        & > Vertical { width: 100%; height: 2; background: $panel; }
        & Input { height: 1; border: none; padding: 0 1; background: $panel; }
        & Input:focus { border: none; background-tint: $foreground 4%; }
        & Static { height: 1; padding: 0 1; color: $text-muted; }
        & Static.-wrong { color: $text-error; }
    }
    """

    input = query_one(Input)
    message = query_one(Static)

    def __init__(self, table: VirtualTable | None) -> None:
        super().__init__()
        self._table = table

    def compose(self) -> ComposeResult:
        table = self._table
        with Vertical():
            yield Input(
                "" if table is None else " ".join(table.search_words),
                placeholder="nothing can be found here"
                if table is None
                else f"words in the {table.source.noun} of this table",
            )
            yield Static(markup=False)

    def on_mount(self) -> None:
        self.input.focus()
        self.input.action_select_all()
        self._show_message(_NOTHING if self._table is None else _HOW)

    @on(Input.Changed)
    def _typed(self) -> None:
        """Mark the rows in view; the others are searched when enter is pressed."""
        if self._table is not None:
            self._show_message(_HOW)
            self._table.look_for(self.input.value.split())

    def action_accept(self) -> None:
        """Go to the row, or say that there is none."""
        table = self._table
        if table is None or not self.input.value.strip():
            self.action_close()
            return
        if table.is_match(table.cursor) or table.seek(1, table.is_match):
            self.dismiss()
        else:
            self._show_message(f"None of these {table.source.noun} has these words.", wrong=True)

    def action_close(self) -> None:
        """Find nothing."""
        if self._table is not None:
            self._table.look_for(())
        self.dismiss()

    def _show_message(self, text: str, wrong: bool = False) -> None:
        self.message.set_class(wrong, "-wrong")
        self.message.update(text)
