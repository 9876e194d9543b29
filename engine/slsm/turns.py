"""A conversation as turns: a message of the user and the assistant's answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from engine.slsm.note import with_note

Message = dict[str, str]
"""`role` and `content`."""
GivenMessage = tuple[str, str | None]
"""A message as it was given: role and content, which is None where the model has yet to answer."""


@dataclass(frozen=True)
class Turn:
    """A message and its answer, each as one text; `assistant` is None in an unanswered turn. `given`: the messages that
    they were read from, where they were."""

    user: str
    assistant: str | None = None
    given: tuple[GivenMessage, ...] = field(default=(), compare=False)

    @property
    def text(self) -> str:
        """Message and answer together."""
        return self.user if self.assistant is None else f"{self.user}\n{self.assistant}"

    @property
    def as_given(self) -> tuple[GivenMessage, ...]:
        """Its messages."""
        return self.given or (("user", self.user), ("assistant", self.assistant))

    def answered(self, answer: str | None) -> Turn:
        """The same with this answer."""
        asked = [one for one in self.as_given if one[0] != "assistant"]
        return Turn(self.user, answer, (*asked, ("assistant", answer)))


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
        """The prompt: the messages as they were given, with the note behind the user's last one."""
        given = [one for turn in self.turns for one in turn.as_given]
        messages = [{"role": role, "content": text} for role, text in given if text is not None]
        last = next(message for message in reversed(messages) if message["role"] == "user")
        last["content"] = with_note(last["content"], note)
        return messages


def turns_of(messages: Sequence[Mapping[str, Any]]) -> tuple[Turn, ...]:
    """Messages as turns: in a turn's texts consecutive messages of one role are joined, and a system message is the
    user's; an assistant's message without content leaves its turn open, for the model to write. Raises ValueError, with
    what is wrong."""
    turns: list[list[GivenMessage]] = []
    waiting: list[GivenMessage] = []
    for number, message in enumerate(messages):
        role, content = message["role"], message["content"]
        if role not in ("system", "user", "assistant"):
            raise ValueError(f"message {number} has the role {role!r}; it is user, assistant or system")
        if content is None and role != "assistant":
            raise ValueError(f"message {number} has no `content`")
        if role == "assistant" and not turns:
            raise ValueError(f"message {number} is the assistant's, but the user has said nothing yet")
        if role == "user" and (not turns or any(who == "assistant" for who, _ in turns[-1])):
            turns.append([])
        waiting.append((role, content))
        if role != "system":  # which opens the turn of the user's next message
            turns[-1] += waiting
            waiting = []
    if not turns:
        raise ValueError("no message of the user")
    turns[-1] += waiting
    return tuple(_turn(given) for given in turns)


def _turn(given: Sequence[GivenMessage]) -> Turn:
    asked = [text for role, text in given if role != "assistant" and text is not None]
    written = [text for role, text in given if role == "assistant" and text is not None]
    return Turn("\n\n".join(asked), "\n\n".join(written) if written else None, tuple(given))
