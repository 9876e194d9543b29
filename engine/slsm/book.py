"""What was done, by key: a line of JSON each, appended as soon as it is done, so that it is never done again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from engine.files import append_jsonl, recover_jsonl

Record = TypeVar("Record", bound=msgspec.Struct)
Key = tuple[str | int, ...]


class Book(Generic[Record]):
    """Records of one type in one file."""

    def __init__(self, path: Path, record: type[Record], key: Callable[[Record], Key]) -> None:
        self._path = path
        self._key = key
        self._records = {
            key(item): item for line in recover_jsonl(path) for item in [msgspec.convert(line, record)]
        }

    def get(self, *key: str | int) -> Record | None:
        """The record, if it is there."""
        return self._records.get(key)

    def __getitem__(self, key: Key) -> Record:
        return self._records[key]

    def __contains__(self, key: object) -> bool:
        return key in self._records

    def has(self, item: Record) -> bool:
        """Whether there is one of its key."""
        return self._key(item) in self._records

    def add(self, item: Record) -> None:
        """Keep it, on disk first."""
        line: dict[str, Any] = msgspec.to_builtins(item)
        append_jsonl(self._path, [line])
        self._records[self._key(item)] = item

    def all(self) -> list[Record]:
        """Everything, in the order it was done."""
        return list(self._records.values())
