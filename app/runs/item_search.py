"""Items of a run's log whose texts have all of some words: what the console's search lists."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from engine.events import Event, Unknown, decode
from engine.regular_file import open_to_read
from engine.run.event_log import LONGEST_LINE

_TYPE = b'{"type":"'
_AROUND = 24
"""Letters that an excerpt shows before the word."""


@dataclass(frozen=True)
class ItemMatch:
    """An event with its place in the log. `excerpt`: its first text with the first word, from shortly before it on."""

    event: Event
    offset: int
    excerpt: str


def find_items(
    log: Path, kinds: Collection[type[Event]], words: Sequence[str], last: int
) -> Iterator[ItemMatch | None]:
    """The events of these kinds up to number `last` with all words in their texts, in the log's order. None stands for
    a line without: whoever searches can give up there. Raises OSError."""
    lowered = [word.lower() for word in words]
    raw = [json.dumps(word, ensure_ascii=False)[1:-1].encode() for word in lowered]
    names = {kind.__name__.encode() for kind in kinds}
    with open_to_read(log) as file:
        offset = 0
        for line in iter(lambda: file.readline(LONGEST_LINE), b""):
            yield _item(line, offset, lowered, last) if _may_match(line, names, raw) else None
            offset += len(line)


def _may_match(line: bytes, names: Collection[bytes], raw: Sequence[bytes]) -> bool:
    """Without decoding it."""
    if not line.startswith(_TYPE) or line[len(_TYPE) : line.find(b'"', len(_TYPE))] not in names:
        return False
    lower = line.decode(errors="replace").lower().encode() if raw else b""
    return all(word in lower for word in raw)


def _item(line: bytes, offset: int, words: Sequence[str], last: int) -> ItemMatch | None:
    try:
        event = decode(line)
    except (msgspec.DecodeError, RecursionError):
        return None
    if isinstance(event, Unknown) or event.seq > last:
        return None
    texts = list(_texts(msgspec.to_builtins(event)))
    if not all(any(word in text.lower() for text in texts) for word in words):
        return None
    return ItemMatch(event, offset, _excerpt(texts, words[0]) if words else "")


def _texts(value: Any) -> Iterator[str]:
    """All texts in a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, each in value.items():
            if key not in _NOT_SEARCHED:
                yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)


_NOT_SEARCHED = ("type", "stage")


def _excerpt(texts: Sequence[str], word: str) -> str:
    text = " ".join(next(text for text in texts if word in text.lower()).split())
    at = max(0, text.lower().find(word) - _AROUND)
    return f"…{text[at:]}" if at else text
