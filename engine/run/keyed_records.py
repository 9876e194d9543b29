"""What a stage has done, by key: a line of JSON each, appended as soon as it is done. It is never done again."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from engine.errors import DataError
from engine.files import RESTORE, append_jsonl, recover_records

KeyT = TypeVar("KeyT", bound=Hashable)
Record = TypeVar("Record", bound=msgspec.Struct)


class KeyedRecords(Mapping[KeyT, Record]):
    """Records of one type in one file, in the order they were done. `added` is called with each new one."""

    def __init__(
        self,
        path: Path,
        kind: type[Record],
        key: Callable[[Record], KeyT],
        as_line: Callable[[Record], dict[str, Any]] = msgspec.to_builtins,
    ) -> None:
        """Read what is there; a torn tail is cut off. Raises DataError for a line that is something else, and for two
        lines of one key that do not say the same."""
        self.added: Callable[[Record], None] = lambda record: None
        self._key = key
        self._path = path
        self._as_line = as_line
        self._records: dict[KeyT, Record] = {}
        for number, record in enumerate(recover_records(path, kind), 1):
            if self._records.setdefault(key(record), record) != record:
                raise DataError(
                    what=f"{key(record)} stands in an earlier line already, with other values",
                    where=f"{path}:{number}",
                    hint=RESTORE,
                )

    def __getitem__(self, key: KeyT) -> Record:
        return self._records[key]

    def __iter__(self) -> Iterator[KeyT]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)

    def add(self, *records: Record) -> None:
        """Keep them, on disk first."""
        append_jsonl(self._path, map(self._as_line, records))
        self._records.update((self._key(record), record) for record in records)
        for record in records:
            self.added(record)
