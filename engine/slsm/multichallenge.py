"""Reads conversations: MultiChallenge, from its JSONL or the hub's parquet, and plain chat transcripts.

Target questions and criteria are kept apart from the conversations: only a judge sees them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import msgspec

from engine.errors import DataError, reading_errors
from engine.regular_file import read_regular
from engine.slsm.turns import Conversation, turns_of
from engine.tasks.hub import fetch, hub_name
from engine.tasks.records import Record, jsonl_records, read_records
from engine.tasks.split_files import split_files

SETTING = "slsm.data.path"
HUB = "hub:ScaleAI/MultiChallenge"
HUB_FILES = "data/test-*.parquet"
_FORM = (
    "give MultiChallenge's fields QUESTION_ID, AXIS, CONVERSATION, TARGET_QUESTION and PASS_CRITERIA; or `messages`, "
    "each with `role` (user, assistant, system) and `content`"
)
_Words = Annotated[str, msgspec.Meta(pattern=r"\S")]


class _Message(msgspec.Struct):
    role: str
    content: str | None


class _Chat(msgspec.Struct):
    """A plain chat."""

    messages: list[_Message]
    id: _Words | int | None = None


class _Published(msgspec.Struct, rename="upper"):
    """A line of MultiChallenge."""

    id: _Words | int = msgspec.field(name="QUESTION_ID")
    axis: _Words
    messages: list[_Message] = msgspec.field(name="CONVERSATION")
    target_question: _Words
    pass_criteria: _Words


@dataclass(frozen=True)
class Criterion:
    """The judge's question about an answer, and the reply that passes: YES or NO."""

    target_question: str
    pass_criteria: str


@dataclass(frozen=True)
class Dialogues:
    """Conversations. `criteria`: by conversation id, none for a plain chat; `digest`: SHA-256 of the data; `left_out`:
    how many the file holds beyond the limit."""

    conversations: Sequence[Conversation]
    criteria: Mapping[str, Criterion] = field(default_factory=dict)
    digest: str = ""
    name: str = ""
    left_out: int = 0

    @property
    def axes(self) -> list[str]:
        """Axes of the conversations, in order of appearance."""
        return list(dict.fromkeys(item.axis for item in self.conversations))


def read_dialogues(path: Path, most: int | None) -> Dialogues:
    """The first `most` conversations of a file; None: all. Raises DataError with line and field."""
    digest = hashlib.sha256(read_bytes(path, SETTING, f"a file, or to {HUB}")).hexdigest()
    return _dialogues(read_records(path), str(path), path.stem, most, digest)


def read_bytes(path: Path, setting: str, form: str = "a file") -> bytes:
    """A file's content. Raises DataError: what the setting may be."""
    with reading_errors(path, "cannot be read", f"set {setting} to {form}", OSError):
        return read_regular(path)


def dialogues_file(path: str) -> Path:
    """The local file of a configured path or `hub:owner/name`, downloaded if needed. Raises DataError."""
    name = hub_name(path)
    if name is None:
        return Path(path).expanduser()
    folder = fetch(name, [HUB_FILES], SETTING)
    return split_files(folder, "test", SETTING)[0]


def parse_dialogues(data: bytes, where: str, name: str, most: int | None) -> Dialogues:
    """The first `most` conversations of JSONL; None: all. Raises DataError with line and field."""
    records = jsonl_records(data.splitlines(), where)
    return _dialogues(records, where, name, most, hashlib.sha256(data).hexdigest())


def _dialogues(records: Iterable[Record], where: str, name: str, most: int | None, digest: str) -> Dialogues:
    conversations: dict[str, Conversation] = {}
    criteria: dict[str, Criterion] = {}
    left_out = 0
    for number, (place, record) in enumerate(records, 1):
        if len(conversations) == most:
            left_out += 1
            continue
        conversation, criterion = _conversation(_as_published(record), place, number)
        if conversation.id in conversations:
            raise wrong(
                place, f"the id {conversation.id!r} occurs twice", "give every conversation its own id"
            )
        conversations[conversation.id] = conversation
        if criterion is not None:
            criteria[conversation.id] = criterion
    if not conversations:
        raise wrong(
            where, "no conversation", "one JSON object a line, in MultiChallenge's form or with `messages`"
        )
    return Dialogues(list(conversations.values()), criteria, digest, name, left_out)


def _as_published(record: dict[str, Any]) -> dict[str, Any]:
    """The record in the JSONL's form: the hub's copy has lower-case names and keeps messages by column."""
    if "conversation" in record and "CONVERSATION" not in record:
        record = {name.upper(): value for name, value in record.items()}
        columns = record["CONVERSATION"]
        if isinstance(columns, dict) and len(columns.get("role") or ()) == len(columns.get("content") or ()):
            pairs = zip(columns.get("role") or (), columns.get("content") or (), strict=True)
            record["CONVERSATION"] = [{"role": role, "content": content} for role, content in pairs]
    return record


def _conversation(record: dict[str, Any], place: str, number: int) -> tuple[Conversation, Criterion | None]:
    plain = "messages" in record and "CONVERSATION" not in record
    name = "messages" if plain else "CONVERSATION"
    try:
        given = msgspec.convert(record, _Chat if plain else _Published)
        turns = turns_of(msgspec.to_builtins(given.messages))
    except msgspec.ValidationError as error:
        raise wrong(place, str(error), _FORM) from None
    except ValueError as error:
        raise wrong(place, f"`{name}`: {error}", _FORM) from None
    if turns[-1].assistant is not None:
        raise wrong(
            place, f"`{name}`: the last message is the assistant's", "end with what the user says last"
        )
    key = f"chat-{number}" if given.id is None else str(given.id)
    if isinstance(given, _Chat):
        return Conversation(key, turns), None
    criterion = Criterion(given.target_question, given.pass_criteria.strip().upper())
    if criterion.pass_criteria not in ("YES", "NO"):
        raise wrong(place, f"`PASS_CRITERIA` is {given.pass_criteria!r}", "YES or NO")
    return Conversation(key, turns, given.axis), criterion


def wrong(where: str, what: str, hint: str) -> DataError:
    return DataError(what=what, where=where, hint=hint)
