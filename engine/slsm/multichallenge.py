"""Reads conversations: MultiChallenge, from its JSONL or the hub's parquet, and plain chat transcripts.

Target questions and criteria are kept apart from the conversations: only a judge sees them (DESIGN 7).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.errors import DataError
from engine.regular_file import read_regular
from engine.slsm.turns import Conversation, turns_of
from engine.tasks.hub import fetch, hub_name
from engine.tasks.records import Record, jsonl_records, read_records
from engine.tasks.split_files import split_files

SETTING = "slsm.data.path"
HUB = "hub:ScaleAI/MultiChallenge"
HUB_FILES = "data/test-*.parquet"
_FIELDS = ("QUESTION_ID", "AXIS", "CONVERSATION", "TARGET_QUESTION", "PASS_CRITERIA")


@dataclass(frozen=True)
class Criterion:
    """The judge's question about an answer, and the reply that passes: YES or NO."""

    target_question: str
    pass_criteria: str


@dataclass(frozen=True)
class Dialogues:
    """Conversations. `criteria`: by conversation id, none for a plain chat; `digest`: SHA-256 of the data; `left_out`:
    ids of those that the file holds beyond the limit."""

    conversations: Sequence[Conversation]
    criteria: Mapping[str, Criterion] = field(default_factory=dict)
    digest: str = ""
    name: str = ""
    left_out: Sequence[str] = ()

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
    try:
        return read_regular(path)
    except OSError as error:
        raise wrong(str(path), f"cannot be read: {error.strerror}", f"set {setting} to {form}") from error


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
    left_out: list[str] = []
    for number, (place, record) in enumerate(records, 1):
        if len(conversations) == most:
            left_out.append(_given_id(_published(record), number))
            continue
        conversation, criterion = _conversation(_published(record), place, number)
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


def _given_id(record: Mapping[str, Any], number: int) -> str:
    return str(record.get("QUESTION_ID", record.get("id", f"chat-{number}")))


def _published(record: dict[str, Any]) -> dict[str, Any]:
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
    if not plain:
        for name in _FIELDS:
            if name not in record:
                raise wrong(
                    place,
                    f"no field `{name}`",
                    f"MultiChallenge's fields: {', '.join(_FIELDS)}; or `messages`",
                )
    name = "messages" if plain else "CONVERSATION"
    key = _text(record, "id" if plain else "QUESTION_ID", place, f"chat-{number}")
    try:
        turns = turns_of(_messages(record[name]))
    except ValueError as error:
        raise wrong(
            place, f"`{name}`: {error}", "messages with `role` (user, assistant, system) and `content`"
        ) from None
    if turns[-1].assistant is not None:
        raise wrong(
            place, f"`{name}`: the last message is the assistant's", "end with what the user says last"
        )
    if plain:
        return Conversation(key, turns), None
    criterion = Criterion(
        _text(record, "TARGET_QUESTION", place), _text(record, "PASS_CRITERIA", place).strip().upper()
    )
    if criterion.pass_criteria not in ("YES", "NO"):
        raise wrong(place, f"`PASS_CRITERIA` is {record['PASS_CRITERIA']!r}", "YES or NO")
    return Conversation(key, turns, _text(record, "AXIS", place)), criterion


def _text(record: dict[str, Any], name: str, place: str, default: str = "") -> str:
    """A field as text; whole numbers are accepted as ids. Raises DataError."""
    value = record.get(name, default)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or not value.strip():
        raise wrong(place, f"`{name}` is {value!r}", "a text")
    return value


def _messages(value: object) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not value:
        raise ValueError("is no list of messages")
    for number, message in enumerate(value):
        fields = message if isinstance(message, dict) else {}
        role, content = fields.get("role"), fields.get("content", 0)
        if role == "assistant" and content is None:
            continue  # the model under test writes it
        if not isinstance(role, str) or not isinstance(content, str):
            raise ValueError(f"message {number} has no `role` and `content` that are text")
    return value


def wrong(where: str, what: str, hint: str) -> DataError:
    return DataError(what=what, where=where, hint=hint)
