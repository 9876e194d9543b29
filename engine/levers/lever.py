"""What a lever is called, whether it fits a model, and what it did to an answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from engine.errors import DataError

ESM, DELTAS, NOTES, EVIDENCE, DEMONSTRATIONS = "esm", "deltas", "notes", "evidence", "demonstrations"
Message = dict[str, str]
"""`role` and `content`."""
CountTokens = Callable[[str], int]


class LeverDid(msgspec.Struct, frozen=True, kw_only=True):
    """What a lever did to one answer, as a sentence. `acted`: the answer may differ for it. `tokens`: its cost beside
    the answer's own: probes, a note, evidence. `calls`, `price`: of a server that it asked."""

    lever: str
    acted: bool
    what: str
    tokens: int = 0
    calls: int = 0
    price: float = 0.0


@dataclass(frozen=True)
class Edited:
    """A conversation as a lever leaves it, and what it did."""

    messages: list[Message]
    did: LeverDid


def last_user(messages: Sequence[Message]) -> str:
    """What is asked. Raises DataError where the last message is not the user's."""
    if not messages or messages[-1]["role"] != "user":
        raise DataError(
            what="the last message is not the user's",
            where="messages",
            hint="end with what is to be answered",
        )
    return messages[-1]["content"]


def with_last(messages: Sequence[Message], content: str) -> list[Message]:
    """The conversation with another last message of the user."""
    return [*messages[:-1], {**messages[-1], "content": content}]
