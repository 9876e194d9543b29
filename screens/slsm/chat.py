"""The tab Talk: a conversation with the run's model, its memory, and the mode."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.style import Style
from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.getters import query_one
from textual.widgets import Input, Static

from app.blocks.model_text import clean
from app.blocks.terminal import draw
from app.keys.commands import Command, bindings
from app.methods.slsm.answers import turn_blocks
from app.methods.slsm.memory import memory_blocks
from app.runs.queries.chat_partner import ChatPartner, ChatTurn
from app.wording.words import short_method_name
from engine.errors import SteerError
from screens.panes.pane import Pane
from screens.run_session import Session
from screens.widgets.detail_pane import DetailPane

COMMANDS = (
    Command("f2", "mode", "Mode", "In Talk: the next mode.", display="F2"),
    Command("f3", "memory", "Memory", "In Talk: the other kind of memory.", display="F3"),
    Command("f4", "forget", "Anew", "In Talk: start a new conversation.", display="F4"),
)
MODES = ("on_detection", "always", "on_risk", "never", "baseline", "reminder", "remind_on_detection")
_EMPTY = """Type a message and press enter. The model of this run answers; the controller reads every turn.

The built-in model `dialogues` was trained to follow instructions such as

  End every answer with the word maple.
  Never use the word pear.
  My dog is Rex.
  My list is milk, rice, eggs.

and forgets them after some turns: name one fruit, tell me one tool, suggest one color."""


class ChatPane(Pane):
    """The conversation so far, and a line to type in."""

    BINDINGS = bindings(COMMANDS)
    DEFAULT_CSS = """
    ChatPane {
        & > DetailPane { height: 1fr; }
        & > #chat-mode { height: 1; padding: 0 1; color: $text-muted; background: $panel; }
        & > #chat-mode { text-wrap: nowrap; text-overflow: ellipsis; }
        & > Input { height: 3; border: round $border; background: $background; }
        & > Input:focus { border: round $accent; }
    }
    """

    page = query_one(DetailPane)
    line = query_one("#chat-mode", Static)
    field = query_one(Input)

    def __init__(self, session: Session, *, id: str) -> None:
        super().__init__(id=id)
        self.session = session
        self.mode: str | None = None
        self.memory_mode: str | None = None
        """None: the run's, as the first answer tells."""
        self._partner: ChatPartner | None = None
        self._last: ChatTurn | None = None
        self._loaded = False
        self._waiting = self._error = ""

    def compose(self) -> ComposeResult:
        yield DetailPane()
        yield Static("", id="chat-mode", markup=False)
        yield Input(placeholder="your message", id="chat-say")

    def show(self) -> None:
        """Draw the conversation, unless the screen is closed."""
        if not self.is_attached:
            return
        self.page.show(self._draw, top=False)
        mode = short_method_name(self.mode) if self.mode else "of the run"
        memory = self.memory_mode or "of the run"
        self.line.update(Text(f"mode {mode}  F2   memory {memory}  F3   new conversation  F4"))

    def close_one(self) -> bool:
        """Move the focus from the input line to the conversation."""
        if self.field.has_focus:
            self.page.focus()
            return True
        return False

    def action_mode(self) -> None:
        """The next mode, for the next turn."""
        self.mode = MODES[(MODES.index(self.mode) + 1) % len(MODES)] if self.mode else MODES[0]
        self.show()

    def action_memory(self) -> None:
        """The other kind of memory."""
        self.memory_mode = "structured" if self.memory_mode == "flat" else "flat"
        self.show()

    def action_forget(self) -> None:
        """Start a new conversation."""
        self._last, self._error = None, ""
        if self._partner is not None:
            self._forget_in_process(self._partner)
        self.show()

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        text = event.value.strip()
        if text and self._waiting:
            self.notify("The last message has no answer yet: press enter again when it has.", markup=False)
        elif text:
            self.field.clear()
            self._waiting, self._error = text, ""
            self.show()
            self.page.scroll_end(animate=False)
            self._say(text)

    @work(group="chat", exit_on_error=False)
    async def _say(self, text: str) -> None:
        self._partner = self._partner or ChatPartner(self.session.run_dir)
        try:
            self._last = await self._partner.say(text, self.mode, self.memory_mode)
            self._loaded = True
            if (answered := self._last.answered) is not None:
                self.mode = self.mode or answered.mode
            for state in self._last.states[-1:]:
                self.memory_mode = self.memory_mode or state.memory_mode
        except SteerError as error:
            self._error = str(error)
            if self.is_attached:
                self.field.value = text
        finally:
            self._waiting = ""
            self.show()
            if self.is_attached:
                self.page.scroll_end(animate=False)

    @work(group="chat", exit_on_error=False)
    async def _forget_in_process(self, partner: ChatPartner) -> None:
        try:
            await partner.forget()
        except SteerError as error:
            self._error = str(error)
        self._last = None  # an answer that was awaited meanwhile belongs to the conversation before
        self.show()

    async def on_unmount(self) -> None:
        if self._partner is not None:
            await self._partner.close()

    def _draw(self, palette: dict[str, Style], width: int) -> RenderableType:
        last = self._last
        parts: list[RenderableType] = []
        if last is None and not self._waiting:
            parts.append(Text(_EMPTY, palette["dim"]))
        if last is not None:
            turns = last.turns if last.answered is not None else []
            parts.append(draw(memory_blocks(turns, last.states, len(turns) - 1), palette, width))
            if last.answered is not None:
                parts += [Text(), draw(turn_blocks(last.answered), palette, width)]
        if self._waiting:  # the process loads everything at the first message
            doing = "the model answers …" if self._loaded else "loading the controller and the model …"
            parts += [Text(), Text.assemble(("user      ", palette["dim"]), clean(self._waiting)),
                      Text(doing, palette["dim"])]  # fmt: skip
        if self._error:
            parts += [Text(), Text(self._error, palette["bad"])]
        return Group(*parts)
