"""A box with a title over the screen below it; what does not fit is scrolled."""

from __future__ import annotations

from typing import TypeVar

from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen

from screens.widgets.key_line import KeyLine
from screens.worker_errors import TellsWorkerErrors

Result = TypeVar("Result")


class Dialog(TellsWorkerErrors, ModalScreen[Result]):
    """A subclass gives its widgets in `contents`. The class `-text` is for a few sentences; `-error` and `-warning`
    give the frame's colour."""

    TITLE_WORD = ""
    DEFAULT_CSS = """
    Dialog {
        align: center middle;
        & > Vertical {
            width: 96%;
            max-width: 120;
            height: auto;
            max-height: 92%;
            border: round $border;
            border-title-color: $text;
            border-title-style: bold;
            background: $surface;
            & > VerticalScroll { height: auto; max-height: 100%; padding: 0 1; scrollbar-size-vertical: 1; }
        }
        &.-text > Vertical { width: 90%; max-width: 90; padding: 1; }
        &.-error > Vertical { border: round $error; border-title-color: $text-error; }
        &.-warning > Vertical { border: round $warning; border-title-color: $text-warning; }
        & Static { height: auto; }
        & Input { height: 1; border: none; padding: 0 1; background: $panel; }
        & Input:focus { border: none; background-tint: $foreground 8%; }
    }
    """

    def __init__(self, title: str = "", classes: str | None = None) -> None:
        super().__init__(classes=classes)
        self._heading = title or self.TITLE_WORD

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = Content(self._heading)  # ids hold brackets
            with VerticalScroll():
                yield from self.contents()
        yield KeyLine()

    def contents(self) -> ComposeResult:
        """What stands in the box."""
        yield from ()

    def action_close(self) -> None:
        """Close without a result."""
        self.dismiss()
