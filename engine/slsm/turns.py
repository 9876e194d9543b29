"""A conversation as turns: what the user says and what the assistant answers to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.slsm.note import with_note

Message = dict[str, str]
"""`role` and `content`."""


@dataclass(frozen=True)
class Turn:
    """`assistant` is None where the answer is still to come."""

    user: str
    assistant: str | None = None

    @property
    def text(self) -> str:
        """All that was said in it."""
        return self.user if self.assistant is None else f"{self.user}\n{self.assistant}"


@dataclass(frozen=True)
class Conversation:
    """`turns`: the last one is unanswered. `axis`: what it tests, "" if nothing."""

    id: str
    turns: tuple[Turn, ...]
    axis: str = ""

    def messages(self, note: str = "") -> list[Message]:
        """As a model is asked, with the note behind the user's last message."""
        found: list[Message] = []
        for turn in self.turns[:-1]:
            found.append({"role": "user", "content": turn.user})
            if turn.assistant is not None:
                found.append({"role": "assistant", "content": turn.assistant})
        return [*found, {"role": "user", "content": with_note(self.turns[-1].user, note)}]


def turns_of(messages: Sequence[Message]) -> tuple[Turn, ...]:
    """Messages as turns: consecutive ones of a role belong together; a system message opens the first turn. Raises
    ValueError with what is wrong."""
    pairs: list[tuple[list[str], list[str]]] = []
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
    return tuple(
        Turn("\n\n".join(user), "\n\n".join(assistant) if assistant else None) for user, assistant in pairs
    )
