"""A free conversation with the model of a run: every turn is followed, and the note is given as the mode says.

`python -m engine chat RUN` reads requests from standard input, one JSON object a line (`{"say": "...", "mode":
"always", "memory_mode": "structured"}`; without mode and memory, the run's; `{"forget": true}` begins anew), and
answers each by one line: a `ChatReply`, or `{"error": "..."}`. Replies are also appended to `RUN/slsm/chat.jsonl`.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import IO, Literal

import msgspec
from pydantic import Field, ValidationError

from engine.config.section import Section
from engine.config.slsm import WITHOUT_MEMORY, Mode
from engine.errors import SteerError
from engine.events import ConversationAnswered, StateUpdated
from engine.run.stage import StageContext
from engine.servers.spent import Spent
from engine.services.line_service import Reply, error_line, kept_line, serve_lines
from engine.services.run_context import run_context
from engine.slsm import layout
from engine.slsm.answering import NO_MEMORY, Variant
from engine.slsm.chat_model import ChatAnswer, ChatAsk, answer_of
from engine.slsm.controllers.controller import MemoryController
from engine.slsm.controllers.state_tracking import gated, state_event
from engine.slsm.from_config import make_chat_model, make_controller
from engine.slsm.outcome import answer_event
from engine.slsm.policy import DETECTING, decide, first_note, note_of, second_note
from engine.slsm.state import MemoryMode, State, empty_state
from engine.slsm.turns import Conversation, Turn


class ChatRequest(Section):
    """A request."""

    say: str | None = Field(default=None, max_length=20_000)
    mode: Mode | None = None
    memory_mode: Literal["structured", "flat"] | None = None
    forget: bool = False


class ChatReply(msgspec.Struct, kw_only=True, frozen=True):
    """`turns`: the conversation, this answer included; `states`: after each turn, the last before the answer; none in
    `baseline`. `answered` None: everything was forgotten."""

    turns: list[list[str]]
    states: list[StateUpdated]
    answered: ConversationAnswered | None


class Chat:
    """One conversation."""

    def __init__(self, context: StageContext) -> None:
        self._context = context
        self._section = context.config.slsm
        self._model = make_chat_model(context)
        self._turns: list[Turn] = []
        self._known: dict[MemoryMode, list[tuple[State, StateUpdated]]] = {}
        self._followed = Spent()
        """Of the controller in this request: a turn is read before its answer, and again with it."""

    @cached_property
    def _controller(self) -> MemoryController:
        """Made for the first mode that keeps a memory: `baseline` needs no server and no key."""
        return make_controller(self._context)

    def answer(self, request: ChatRequest) -> ChatReply:
        """The reply to one request. Raises SteerError."""
        if request.forget:
            self._turns, self._known = [], {}
        if not request.say:
            return ChatReply(turns=self._turn_texts(), states=[], answered=None)
        mode, memory_mode = self._mode(request), request.memory_mode or self._section.memory_mode
        self._followed = Spent()
        turns = [*self._turns, Turn(request.say)]
        states: list[StateUpdated] = []
        state = empty_state(memory_mode)
        if mode not in WITHOUT_MEMORY:
            known = self._follow(memory_mode)
            before = known[-1][0] if known else state
            state, event = self._update(before, turns, memory_mode)
            states = [earlier for _, earlier in known] + [event]
        variant = (mode, NO_MEMORY if mode in WITHOUT_MEMORY else memory_mode)
        answered = self._ask(variant, Conversation("chat", tuple(turns)), state)
        self._turns.append(Turn(request.say, answered.answer))
        return ChatReply(turns=self._turn_texts(), states=states, answered=answered)

    def _mode(self, request: ChatRequest) -> Mode:
        """The mode that is asked for, else the run's."""
        without = self._section.disable_controller
        mode = request.mode or ("baseline" if without else self._section.inject)
        if without and mode not in WITHOUT_MEMORY:
            what, where = (
                f"mode `{mode}` asks a controller, and this run has none",
                "slsm.disable_controller: true",
            )
            raise SteerError(
                what=what, where=where, hint="choose `baseline` or `reminder`, or start a run with `false`"
            )
        return mode

    def _turn_texts(self) -> list[list[str]]:
        return [[turn.user, turn.assistant or ""] for turn in self._turns]

    def _follow(self, mode: MemoryMode) -> list[tuple[State, StateUpdated]]:
        """States after all finished turns; those of a mode that was off until now are caught up."""
        known = self._known.setdefault(mode, [])
        while len(known) < len(self._turns):
            before = known[-1][0] if known else empty_state(mode)
            known.append(self._update(before, self._turns[: len(known) + 1], mode))
        return known

    def _update(self, before: State, turns: list[Turn], mode: MemoryMode) -> tuple[State, StateUpdated]:
        update = self._controller.update(before, turns)
        self._followed += update.spent
        update = gated(before, update, turns[-1], self._section.gated_kinds)
        return update.state, state_event("chat", mode, len(turns) - 1, before, update)

    def _ask(self, variant: Variant, conversation: Conversation, state: State) -> ConversationAnswered:
        mode = variant[0]
        note = note_of(state, self._section.note_max_items)
        decision = decide(mode, state, note, self._section.risk_modes)
        shown = first_note(mode, decision, note)
        first, second, detected = self._given(conversation, shown), None, None
        if mode in DETECTING:
            detected = self._controller.detect(state, conversation.turns, first.text)
            shown = second_note(mode, note) if detected.conflicts else ""
            second = self._given(conversation, shown) if shown else None
        tokens = self._model.count_tokens(shown)
        return answer_event(
            conversation, variant, 0, decision, shown, tokens, first, self._followed, detected, second
        )

    def _given(self, conversation: Conversation, note: str) -> ChatAnswer:
        seed = self._context.seed("chat", len(conversation.turns))
        return answer_of(self._model, ChatAsk(tuple(conversation.messages(note)), seed))


def open_chat(run_dir: Path) -> Chat:
    """A conversation with what the run's configuration names. Raises SteerError."""
    return Chat(run_context(run_dir, "slsm"))


def serve(run_dir: Path, requests: IO[str], replies: IO[bytes]) -> None:
    """Answer until the requests end."""
    file = layout.folder(run_dir) / "chat.jsonl"

    def begin() -> Reply:
        chat = open_chat(run_dir)

        def reply(line: str) -> bytes:
            try:
                request = ChatRequest.model_validate_json(line)
            except ValidationError as error:
                return error_line(f"this is not a request: {error.errors()[0]['msg']}")
            return kept_line(file, msgspec.json.encode(chat.answer(request)) + b"\n")

        return reply

    serve_lines(begin, requests, replies)
