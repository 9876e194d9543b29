"""The filter over runs: its fields, and which runs it keeps."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from app.runs.run_list import RunRow
from app.table.filter import Expression, Field, Rows, Value, predicate
from screens.runs.fields import FIELDS, VALUES, changes_text, methods_text

RUN_FIELDS: dict[str, Field] = {field.name: field for field, _ in FIELDS}


class _RunRows(Rows):
    def __init__(self, rows: Sequence[RunRow]) -> None:
        self._rows = rows

    def getter(self, field: str) -> Callable[[int], Value]:
        value = VALUES[field]
        return lambda row: value(self._rows[row])

    def mentions(self, word: str) -> Callable[[int], bool]:
        return lambda row: word in _searched(self._rows[row])


def _searched(row: RunRow) -> str:
    """What a plain word is looked for in, in lower case."""
    parts = (row.title, row.record.name, row.state, row.record.run_id)
    # Encoded fast: this happens for every run at every letter.
    config = msgspec.json.encode(row.record.config).decode()
    return " ".join((*parts, methods_text(row), changes_text(row), config)).lower()


def kept(rows: Sequence[RunRow], expression: Expression | None) -> list[RunRow]:
    """The runs that match."""
    if expression is None:
        return list(rows)
    matches = predicate(expression, _RunRows(rows))
    return [row for number, row in enumerate(rows) if matches(number)]
