"""The SLSM screen, live or replayed: conversations, their memory and notes, the modes, and a chat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.getters import query_one

from app.blocks.block import Target
from app.commands import Command, bindings
from app.methods.place import Place
from screens.panes.files import FilesPane
from screens.slsm.chat import ChatPane
from screens.slsm.conversations import ConversationsPane, answer_target
from screens.slsm.modes import ModesPane
from screens.tabbed_screen import STYLES, TabbedScreen, tab_commands
from screens.widgets.tab_line import Tab

TABS = [
    Tab("conversations-pane", "Conversations"),
    Tab("modes-pane", "Modes"),
    Tab("chat-pane", "Talk"),
    Tab("slsm-files-pane", "Files"),
]
COMMANDS = (
    Command("left_parenthesis", "turn(-1)", "Turn", "The memory one turn earlier.", display="( )"),
    Command("right_parenthesis", "turn(1)", "Turn", "The memory one turn later.", shown=False, display=")"),
    Command("f2", "chat_mode", "Mode", "In Talk: the next mode.", priority=True, display="F2"),
    Command("f3", "chat_memory", "Memory", "In Talk: the other kind of memory.", priority=True, display="F3"),
    Command("f4", "chat_forget", "Anew", "In Talk: start a new conversation.", priority=True, display="F4"),
)


class SLSMScreen(TabbedScreen):
    """The SLSM screen of one run."""

    CSS_PATH = [STYLES, "screen.tcss"]
    TITLE_WORD = "SLSM"
    TABS = TABS
    STAGE_TABS = {"slsm": "conversations-pane"}
    BINDINGS: ClassVar[list[BindingType]] = bindings((*tab_commands(TABS), *COMMANDS))
    HELP = """\
# SLSM: memory notes

A controller reads the conversation turn by turn and keeps what matters: facts, standing instructions, the latest
version of what is edited. A mode decides whether a note with it is put after the user's last message:
*never*, *on_risk* (the plan is to verify or to clarify), *always*, or *on_detection*: the first answer gets no note,
and only if it contradicts the memory is the model asked again with one. *baseline* has no controller.

*Conversations* has a row for every answer, with the conversation and its memory after the turn that ▶ marks: `(` and
`)` go to other turns. + is new, ~ changed, − resolved in that turn; the words that an item rests on are underlined.
On top stand the answer without a controller, the note and the answer under it: ▲ the note turned it right, ▼ wrong; `d`
goes to the next such answer. The line below leads to the answers of the other modes to the same conversation.
Then follow the plan and its reason, the exact note or why there was none, the answers and any conflict between them
and the memory, the verdict and the cost. `w` answers again under another note, an edited one, or none.
*Modes* compares scores and costs: of the notes that were given, *fixed* ones made a failing answer pass, *broke*
ones made a passing one fail, *wasted* ones changed nothing; the counts lead to the first such conversation.
*Talk* is your own conversation with this run's model; `F2` and `F3` choose mode and memory, `F4` starts anew.
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

    def place_of(self, target: Target) -> Place | None:
        """An `answer` by mode, memory, attempt, conversation; or the first that mode and memory `fixed` or `broke`."""
        state = self.session.state.slsm
        if target.kind == "answer":
            rows = [at for at, row in enumerate(state.results) if answer_target(row) == target]
        else:
            mode, memory = target.name.split(" ")
            right, wrong = state.turned(mode, "baseline", memory)
            rows = right if target.kind == "fixed" else wrong
        return Place("conversations-pane", rows[0], open=True) if rows else None

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
