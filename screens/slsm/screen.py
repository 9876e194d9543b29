"""Conversations and their memory, live or replayed: what was known, why a note was given, what it cost, what it did."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.getters import query_one

from app.commands import Command, bindings
from screens.panes.files import FilesPane
from screens.slsm.chat import ChatPane
from screens.slsm.conversations import ConversationsPane
from screens.slsm.modes import ModesPane
from screens.tabbed_screen import TabbedScreen, tab_commands
from screens.widgets.tab_line import Tab

TABS = [
    Tab("conversations-pane", "Conversations"),
    Tab("modes-pane", "Modes"),
    Tab("chat-pane", "Talk"),
    Tab("slsm-files-pane", "Files"),
]
COMMANDS = (
    Command("left_parenthesis", "turn(-1)", "Turn", "The memory a turn earlier.", display="( )"),
    Command("right_parenthesis", "turn(1)", "Turn", "The memory a turn later.", shown=False, display=")"),
    Command("f2", "chat_mode", "Mode", "Talk: the next mode of injection.", priority=True, display="F2"),
    Command("f3", "chat_memory", "Memory", "Talk: the other kind of memory.", priority=True, display="F3"),
    Command("f4", "chat_forget", "Anew", "Talk: forget the conversation.", priority=True, display="F4"),
)


class SLSMScreen(TabbedScreen):
    """The SLSM screen of one run."""

    CSS_PATH = ["../tabbed_screen.tcss", "screen.tcss"]
    TITLE_WORD = "SLSM"
    TABS = TABS
    STAGE_TABS = {"slsm": 0}
    BINDINGS: ClassVar[list[BindingType]] = bindings((*tab_commands(TABS), *COMMANDS))
    HELP = """\
# SLSM: memory notes

A controller reads the conversation turn by turn and keeps what matters: facts, standing instructions, the latest
version of what is edited. A policy decides whether a note of it is put behind the user's last message:
*never*, *on_risk* (the plan is to verify or to clarify), *always*, or *on_detection*, where the first answer
comes without a note and only one that goes against the memory is asked again. *baseline* has no controller.

*Conversations* has a row for every answer. Below it stands the conversation, beside it the memory after the turn
that ▶ marks: `(` and `)` go to other turns. + is new, ~ changed, − resolved in that turn; what each item
rests on is underlined in the turn it was said in. Then follow the exact note, or why there was none.
*Modes* compares scores and costs: of the notes that were given, *fixed* ones made a failing answer pass, *broke*
ones made a passing one fail, *wasted* ones changed nothing.
*Talk* is a conversation of your own with this run's model.
"""

    conversations = query_one(ConversationsPane)
    chat = query_one(ChatPane)

    def panes(self) -> ComposeResult:
        yield ConversationsPane(self.session, id="conversations-pane")
        yield ModesPane(self.session, id="modes-pane")
        yield ChatPane(self.session, id="chat-pane")
        yield FilesPane(self.session, id="slsm-files-pane")

    def counts(self) -> Sequence[int | None]:
        state = self.session.state.slsm
        return len(state.results), len(state.modes)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "turn":
            return self.tabs.active == 0
        if action in ("chat_mode", "chat_memory", "chat_forget"):
            return self.tabs.active == 2
        return super().check_action(action, parameters)

    def action_turn(self, step: int) -> None:
        """The memory of another turn."""
        self.conversations.go(step)

    def action_chat_mode(self) -> None:
        """Another mode."""
        self.chat.switch_mode()

    def action_chat_memory(self) -> None:
        """Another memory."""
        self.chat.switch_memory()

    def action_chat_forget(self) -> None:
        """A new conversation."""
        self.chat.forget()

    def _show_tab(self, index: int) -> None:
        super()._show_tab(index)
        if index == 2:
            self.chat.field.focus()
