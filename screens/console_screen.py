"""What all full screens have in common: breakpoints, and a notice where the terminal is too narrow for them."""

from __future__ import annotations

from typing import TypeVar

from rich.text import Text
from textual.app import ComposeResult
from textual.screen import Screen
from textual.widget import Widget

from screens.widgets.key_line import KeyLine
from screens.worker_errors import TellsWorkerErrors

NARROWEST = 60
"""Columns below which a screen says so instead of drawing."""

Result = TypeVar("Result")


class TooNarrow(Widget):
    """Takes the place of everything else below `NARROWEST` columns."""

    DEFAULT_CSS = """
    TooNarrow { display: none; width: 1fr; height: 1fr; content-align: center middle; text-align: center; }
    """

    def render(self) -> Text:
        return Text(
            f"{self.app.size.width} columns are too few.\nMake it {NARROWEST} or more.\n\nThe run continues.",
            justify="center",
        )


class ConsoleScreen(TellsWorkerErrors, Screen[Result]):
    """A full screen. Gives its content in `compose_content`; has the class `-tiny`, `-narrow` or `-wide`."""

    HORIZONTAL_BREAKPOINTS = [(0, "-tiny"), (NARROWEST, "-narrow"), (120, "-wide")]
    VERTICAL_BREAKPOINTS = [(0, "-low"), (30, "-high")]
    DEFAULT_CSS = """
    ConsoleScreen.-tiny > * { display: none; }
    ConsoleScreen.-tiny > TooNarrow { display: block; }
    """

    _focused_before: Widget | None = None

    def on_screen_suspend(self) -> None:
        """The palette lies above, under which this screen's keys do nothing."""
        for line in self.query(KeyLine):
            line.refresh()

    def on_resize(self) -> None:
        """What is hidden loses the focus: give it back once there is room again."""
        tiny = self.app.size.width < NARROWEST
        if tiny and self.focused is not None:
            self._focused_before = self.focused
        elif not tiny and self._focused_before is not None:
            self.call_after_refresh(self._focus_again)

    def _focus_again(self) -> None:
        before, self._focused_before = self._focused_before, None
        if self.focused is None and before is not None and before.focusable:
            before.focus()

    def compose(self) -> ComposeResult:
        yield TooNarrow()
        yield from self.compose_content()

    def compose_content(self) -> ComposeResult:
        """The screen's widgets, from top to bottom."""
        yield from ()
