"""A conversation as turns: a message of the user and the assistant's answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.slsm.note import with_note

Message = dict[str, str]
"""`role` and `content`."""


@dataclass(frozen=True)
class Turn:
    """A message and its answer; `assistant` is None in an unanswered turn."""

    user: str
    assistant: str | None = None

    @property
    def text(self) -> str:
        """Message and answer together."""
        return self.user if self.assistant is None else f"{self.user}\n{self.assistant}"


@dataclass(frozen=True)
class Conversation:
    """A conversation whose last turn is unanswered; earlier ones may be too, until the model writes them. `axis`:
    the ability it tests, or ""."""

    id: str
    turns: tuple[Turn, ...]
    axis: str = ""

    def is_open(self, number: int) -> bool:
        """Whether turn `number` is an earlier one that nobody has answered."""
        return number < len(self.turns) - 1 and self.turns[number].assistant is None

    def messages(self, note: str = "") -> list[Message]:
        """The prompt's messages, with the note behind the user's last message."""
        messages: list[Message] = []
        for turn in self.turns[:-1]:
            messages.append({"role": "user", "content": turn.user})
            if turn.assistant is not None:
                messages.append({"role": "assistant", "content": turn.assistant})
        return [*messages, {"role": "user", "content": with_note(self.turns[-1].user, note)}]


def turns_of(messages: Sequence[Mapping[str, Any]]) -> tuple[Turn, ...]:
    """Messages as turns: consecutive messages of one role are joined; a system message opens the first turn; an
    assistant's message of None leaves its turn open. Raises ValueError, with what is wrong."""
    pairs: list[tuple[list[str], list[str | None]]] = []
    opening: list[str] = []
    for number, message in enumerate(messages):
        role, content = message["role"], message["content"]
        if role == "system":
            opening.append(content)
        elif role == "user":
            if not pairs or pairs[-1][1]:
                pairs.append(([*opening], []))
                opening = []
            pairs[-1][0].append(content)
        elif role == "assistant":
            if not pairs:
                raise ValueError(f"message {number} is the assistant's, but the user has said nothing yet")
            pairs[-1][1].append(content)
        else:
            raise ValueError(f"message {number} has the role {role!r}; it is user, assistant or system")
    if not pairs:
        raise ValueError("no message of the user")
    return tuple(Turn("\n\n".join(user), _joined(assistant)) for user, assistant in pairs)


def _joined(texts: Sequence[str | None]) -> str | None:
    written = [text for text in texts if text is not None]
    return "\n\n".join(written) if written else None
