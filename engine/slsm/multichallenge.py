"""MultiChallenge's JSONL, and plain chat transcripts, as conversations.

What the target question and its criteria are is kept apart: only a judge is given them (DESIGN 7).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.errors import DataError
from engine.slsm.turns import Conversation, turns_of

_FIELDS = ("QUESTION_ID", "AXIS", "CONVERSATION", "TARGET_QUESTION", "PASS_CRITERIA")


@dataclass(frozen=True)
class Criterion:
    """What a judge is asked about an answer, and the answer that passes: YES or NO."""

    target_question: str
    pass_criteria: str


@dataclass(frozen=True)
class Dialogues:
    """`criteria`: by conversation id; none for a plain chat. `digest`: SHA-256 of what was read."""

    conversations: Sequence[Conversation]
    criteria: Mapping[str, Criterion] = field(default_factory=dict)
    digest: str = ""
    name: str = ""

    @property
    def axes(self) -> list[str]:
        """Axes that occur, in order of appearance."""
        return list(dict.fromkeys(item.axis for item in self.conversations))


def read_dialogues(path: Path, most: int) -> Dialogues:
    """The first `most` conversations of a JSONL file. Raises DataError with line and field."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError(
            what=f"cannot be read: {error.strerror}",
            where=str(path),
            mend="set slsm.data.path to a JSONL file",
        ) from error
    return parse_dialogues(data, str(path), path.stem, most)


def parse_dialogues(data: bytes, where: str, name: str, most: int) -> Dialogues:
    """The same from bytes."""
    conversations: list[Conversation] = []
    criteria: dict[str, Criterion] = {}
    for number, record in _records(data, where):
        if len(conversations) == most:
            break
        place = f"{where}, line {number}"
        conversation, criterion = _conversation(record, place, number)
        if any(conversation.id == other.id for other in conversations):
            raise _wrong(
                place, f"the id {conversation.id!r} occurs twice", "give every conversation its own id"
            )
        conversations.append(conversation)
        if criterion is not None:
            criteria[conversation.id] = criterion
    if not conversations:
        raise _wrong(
            where, "no conversation", "one JSON object a line, in MultiChallenge's form or with `messages`"
        )
    return Dialogues(conversations, criteria, hashlib.sha256(data).hexdigest(), name)


def _records(data: bytes, where: str) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise _wrong(f"{where}, line {number}", f"not JSON: {error}", "one JSON object a line") from None
        if not isinstance(record, dict):
            raise _wrong(f"{where}, line {number}", "not a JSON object", "one JSON object a line")
        yield number, record


def _conversation(record: dict[str, Any], place: str, number: int) -> tuple[Conversation, Criterion | None]:
    plain = "messages" in record and "CONVERSATION" not in record
    if not plain:
        for name in _FIELDS:
            if name not in record:
                raise _wrong(
                    place,
                    f"no field `{name}`",
                    f"MultiChallenge's fields: {', '.join(_FIELDS)}; or `messages`",
                )
    messages = record["messages" if plain else "CONVERSATION"]
    key = str(record.get("id", f"chat-{number}") if plain else record["QUESTION_ID"])
    try:
        turns = turns_of(_messages(messages))
    except ValueError as error:
        raise _wrong(
            place, str(error), "messages with `role` (user, assistant, system) and `content`"
        ) from None
    if turns[-1].assistant is not None:
        raise _wrong(place, "the last message is the assistant's", "end with what the user says last")
    if plain:
        return Conversation(key, turns), None
    criterion = Criterion(str(record["TARGET_QUESTION"]), str(record["PASS_CRITERIA"]).strip().upper())
    if criterion.pass_criteria not in ("YES", "NO"):
        raise _wrong(place, f"PASS_CRITERIA is {record['PASS_CRITERIA']!r}", "YES or NO")
    return Conversation(key, turns, str(record["AXIS"])), criterion


def _messages(found: object) -> list[dict[str, str]]:
    if not isinstance(found, list) or not found:
        raise ValueError("the conversation is not a list of messages")
    for number, message in enumerate(found):
        if not (
            isinstance(message, dict)
            and isinstance(message.get("role"), str)
            and isinstance(message.get("content"), str)
        ):
            raise ValueError(f"message {number} has no `role` and `content` that are text")
    return found


def _wrong(where: str, what: str, mend: str) -> DataError:
    return DataError(what=what, where=where, mend=mend)
