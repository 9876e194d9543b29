"""The SLSM screen: its page, and a talk with the run's model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import BindingType
from textual.getters import query_one
from textual.widget import Widget

from app.keys.commands import Command, bindings
from screens.method_screen import MethodScreen
from screens.slsm.chat import ChatPane
from screens.widgets.tab_line import Tab

TALK = Tab("talk", "Talk")
COMMANDS = (
    Command("f2", "chat_mode", "Mode", "In Talk: the next mode.", priority=True, display="F2"),
    Command("f3", "chat_memory", "Memory", "In Talk: the other kind of memory.", priority=True, display="F3"),
    Command("f4", "chat_forget", "Anew", "In Talk: start a new conversation.", priority=True, display="F4"),
)


class SLSMScreen(MethodScreen):
    """The SLSM screen of one run."""

    TITLE_WORD = "SLSM"
    BINDINGS: ClassVar[list[BindingType]] = bindings(COMMANDS)

    chat = query_one(ChatPane)

    def tab_list(self) -> Sequence[Tab]:
        return [*super().tab_list(), TALK]

    def make(self, tab: Tab) -> Widget:
        return ChatPane(self.session, id=tab.id) if tab == TALK else super().make(tab)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action.startswith("chat_"):
            return self.shown_name == TALK.id
        return super().check_action(action, parameters)

    def action_chat_mode(self) -> None:
        """Another mode."""
        self.chat.switch_mode()

    def action_chat_memory(self) -> None:
        """Another memory."""
        self.chat.switch_memory()

    def action_chat_forget(self) -> None:
        """A new conversation."""
        self.chat.forget()

    def action_tab(self, index: int) -> None:
        """Show a tab; who chooses Talk begins to type, who comes back to it does not."""
        super().action_tab(index)
        if self.TABS[index] == TALK:
            self.chat.field.focus()
