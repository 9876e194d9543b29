"""A small dialog that says what a key is about to do, and asks whether it shall."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.binding import Binding
from textual.widgets import Static

from screens.panels.dialog import Dialog


class ConfirmScreen(Dialog[bool]):
    """The result is whether it shall be done."""

    BINDINGS = [
        Binding("enter", "dismiss(True)", "Do it", tooltip="Do what the dialog says."),
        Binding("escape", "dismiss(False)", "Cancel", tooltip="Change nothing."),
    ]

    def __init__(self, title: str, text: str) -> None:
        super().__init__(title, "-text")
        self._text = text

    def contents(self) -> ComposeResult:
        yield Static(self._text, markup=False)
