"""A small dialog that asks for one line of text and says at every letter what it would do, or what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.getters import query_one
from textual.widgets import Input, Static

from screens.panels.dialog import Dialog


class AskScreen(Dialog[str]):
    """The result is the text, or None. `describe(text)`: what enter does; raises ValueError with what is wrong."""

    BINDINGS = [
        # With priority, since the field has a hidden enter of its own.
        Binding("enter", "accept", "OK", tooltip="Do what the dialog says.", priority=True),
        Binding("escape", "close", "Cancel", tooltip="Change nothing."),
    ]
    DEFAULT_CSS = """
    AskScreen {
        & Static { margin-top: 1; }
        & Static.-wrong { color: $text-error; }
    }
    """

    input = query_one(Input)
    message = query_one(Static)

    def __init__(self, title: str, describe: Callable[[str], str], value: str = "") -> None:
        super().__init__(title, "-text")
        self._describe = describe
        self._value = value

    def contents(self) -> ComposeResult:
        yield Input(self._value)
        yield Static(markup=False)

    def on_mount(self) -> None:
        self.input.focus()
        self._describe_action()

    @on(Input.Changed)
    def _describe_action(self) -> bool:
        """Say what enter does; whether it does anything."""
        try:
            self.say(self._describe(self.input.value))
        except ValueError as error:
            self.say(f"✗ {error}", wrong=True)
        return not self.message.has_class("-wrong")

    def say(self, text: str, wrong: bool = False) -> None:
        """Say this below the line."""
        self.message.set_class(wrong, "-wrong")
        self.message.update(text)

    def action_accept(self) -> None:
        """Close with the text, if it is right."""
        if self._describe_action():
            self.dismiss(self.input.value.strip())
