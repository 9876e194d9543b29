"""A small dialog that says what a key is about to do, and asks whether it shall."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from screens.ask import AskScreen
from screens.widgets.key_line import KeyLine


class ConfirmScreen(ModalScreen[bool]):
    """The result is whether it shall be done."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "dismiss(True)", "Do it", tooltip="Do what the dialog says.", key_display="enter"),
        Binding("escape", "dismiss(False)", "Cancel", tooltip="Change nothing.", key_display="esc"),
    ]
    DEFAULT_CSS = AskScreen.DEFAULT_CSS.replace("AskScreen", "ConfirmScreen")

    def __init__(self, title: str, text: str) -> None:
        super().__init__()
        self._title, self._text = title, text

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = Content(self._title)
            yield Static(self._text, markup=False)
        yield KeyLine()
