"""The console's side of a free conversation: a process of its own that holds controller and model."""

from __future__ import annotations

from pathlib import Path

import msgspec

from app.runs.queries.line_process import LineProcess
from engine.events import ConversationAnswered, StateUpdated


class ChatTurn(msgspec.Struct, kw_only=True, frozen=True):
    """A reply, as `python -m engine chat` writes it."""

    turns: list[list[str]]
    states: list[StateUpdated]
    answered: ConversationAnswered | None


class ChatPartner(LineProcess):
    """A process that holds the conversation; it ends with the screen."""

    def __init__(self, run_dir: Path) -> None:
        super().__init__("chat", run_dir)

    async def say(self, text: str, mode: str | None, memory_mode: str | None) -> ChatTurn:
        """The reply to a turn; None: with the run's mode, or its memory. Raises SteerError."""
        return await self._ask({"say": text, "mode": mode, "memory_mode": memory_mode})

    async def forget(self) -> None:
        """Start a new conversation. Raises SteerError."""
        await self._ask({"forget": True})

    async def _ask(self, fields: dict[str, object]) -> ChatTurn:
        return msgspec.json.decode(await self.request(fields), type=ChatTurn)
