"""MultiChallenge's questions, from its JSONL or the hub's parquet, and plain chat transcripts, as conversations.

What the target question and its criteria are is kept apart: only a judge is given them (DESIGN 7).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.errors import DataError
from engine.slsm.turns import Conversation, turns_of
from engine.tasks.hub import fetch, hub_name
from engine.tasks.records import read_records
from engine.tasks.split_files import split_files

SETTING = "slsm.data.path"
HUB = "hub:ScaleAI/MultiChallenge"
HUB_FILES = "data/test-*.parquet"
_Numbered = tuple[int, str, dict[str, Any]]
"""Number of a record, its place, and what it holds."""
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
    """The first `most` conversations of a file. Raises DataError with line and field."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError(
            what=f"cannot be read: {error.strerror}",
            where=str(path),
            mend=f"set {SETTING} to a file, or to {HUB}",
        ) from error
    if path.suffix != ".parquet":
        return parse_dialogues(data, str(path), path.stem, most)
    rows = ((number, place, record) for number, (place, record) in enumerate(read_records(path), 1))
    return _dialogues(rows, str(path), path.stem, most, hashlib.sha256(data).hexdigest())


def dialogues_file(path: str) -> Path:
    """The file that a configuration names: a path, or `hub:owner/name`. Raises DataError."""
    name = hub_name(path)
    if name is None:
        return Path(path).expanduser()
    folder = fetch(name, [HUB_FILES], SETTING)
    return split_files(folder, "test", SETTING)[0]


def parse_dialogues(data: bytes, where: str, name: str, most: int) -> Dialogues:
    """The same from JSONL in bytes."""
    return _dialogues(_lines(data, where), where, name, most, hashlib.sha256(data).hexdigest())


def _dialogues(records: Iterable[_Numbered], where: str, name: str, most: int, digest: str) -> Dialogues:
    conversations: dict[str, Conversation] = {}
    criteria: dict[str, Criterion] = {}
    for number, place, record in records:
        if len(conversations) == most:
            break
        conversation, criterion = _conversation(_published(record), place, number)
        if conversation.id in conversations:
            raise _wrong(
                place, f"the id {conversation.id!r} occurs twice", "give every conversation its own id"
            )
        conversations[conversation.id] = conversation
        if criterion is not None:
            criteria[conversation.id] = criterion
    if not conversations:
        raise _wrong(
            where, "no conversation", "one JSON object a line, in MultiChallenge's form or with `messages`"
        )
    return Dialogues(list(conversations.values()), criteria, digest, name)


def _lines(data: bytes, where: str) -> Iterator[_Numbered]:
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").splitlines(), 1):
        if not line.strip():
            continue
        place = f"{where}, line {number}"
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise _wrong(place, f"not JSON: {error}", "one JSON object a line") from None
        if not isinstance(record, dict):
            raise _wrong(place, "not a JSON object", "one JSON object a line")
        yield number, place, record


def _published(record: dict[str, Any]) -> dict[str, Any]:
    """The same with the names of the JSONL: the hub's copy has them in small letters, and keeps messages by column."""
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
                raise _wrong(
                    place,
                    f"no field `{name}`",
                    f"MultiChallenge's fields: {', '.join(_FIELDS)}; or `messages`",
                )
    name = "messages" if plain else "CONVERSATION"
    key = _text(record, "id" if plain else "QUESTION_ID", place, f"chat-{number}")
    try:
        turns = turns_of(_messages(record[name]))
    except ValueError as error:
        raise _wrong(
            place, f"`{name}`: {error}", "messages with `role` (user, assistant, system) and `content`"
        ) from None
    if turns[-1].assistant is not None:
        raise _wrong(
            place, f"`{name}`: the last message is the assistant's", "end with what the user says last"
        )
    if plain:
        return Conversation(key, turns), None
    criterion = Criterion(
        _text(record, "TARGET_QUESTION", place), _text(record, "PASS_CRITERIA", place).strip().upper()
    )
    if criterion.pass_criteria not in ("YES", "NO"):
        raise _wrong(place, f"`PASS_CRITERIA` is {record['PASS_CRITERIA']!r}", "YES or NO")
    return Conversation(key, turns, _text(record, "AXIS", place)), criterion


def _text(record: dict[str, Any], name: str, place: str, default: str = "") -> str:
    """A field that is a text, or a number that names something."""
    found = record.get(name, default)
    if isinstance(found, int) and not isinstance(found, bool):
        return str(found)
    if not isinstance(found, str) or not found.strip() or _is_broken(found):
        raise _wrong(place, f"`{name}` is {found!r}", "a text")
    return found


def _is_broken(text: str) -> bool:
    """Whether it has half a letter, which JSON can hold and no file."""
    return any("\ud800" <= letter <= "\udfff" for letter in text)


def _messages(found: object) -> list[dict[str, str]]:
    if not isinstance(found, list) or not found:
        raise ValueError("is no list of messages")
    for number, message in enumerate(found):
        if not (
            isinstance(message, dict)
            and isinstance(message.get("role"), str)
            and isinstance(message.get("content"), str)
        ):
            raise ValueError(f"message {number} has no `role` and `content` that are text")
        if _is_broken(message["content"]):
            raise ValueError(f"message {number} has half a letter in its content")
    return found


def _wrong(where: str, what: str, mend: str) -> DataError:
    return DataError(what=what, where=where, mend=mend)
