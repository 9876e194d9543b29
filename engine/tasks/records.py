"""Read the records of a data file (JSONL, a JSON list, parquet or CSV), each with its position."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from engine.errors import DataError, reading_errors
from engine.files import whole_letters
from engine.parquet import require_pyarrow
from engine.regular_file import open_to_read

Record = tuple[str, dict[str, Any]]
"""Position of a record (`file:line`, `file: row n`), and its fields."""

_POINTER = b"version https://git-lfs.github.com/spec/"
_FIX = "correct or remove it"
_BOM = b"\xef\xbb\xbf"
"""The byte order mark that some editors put at the beginning of a UTF-8 file."""


def read_records(path: Path) -> Iterator[Record]:
    """The records one after the other. Raises DataError for a file or a record that cannot be read."""
    unreadable = reading_errors(path, "this file cannot be read", "name a data file", OSError)
    with unreadable, open_to_read(path) as file:
        start = file.read(len(_POINTER))
    if start == _POINTER:
        raise DataError(
            what="this is a pointer of git-lfs, not the file itself",
            where=str(path),
            hint="fetch the file: git lfs pull",
        )
    if path.suffix == ".parquet":
        return _parquet(path)
    if path.suffix == ".csv":
        return _csv(path)
    return _json_list(path) if start.removeprefix(_BOM).lstrip()[:1] == b"[" else read_jsonl_records(path)


def read_jsonl_records(path: Path) -> Iterator[Record]:
    """Objects of a JSON-lines file, blank lines left out. Raises DataError with file and line."""
    with open_to_read(path) as file:
        yield from jsonl_records(file, str(path))


def jsonl_records(lines: Iterable[bytes], name: str) -> Iterator[Record]:
    """Objects of JSON lines, blank ones left out. Raises DataError with `name` and line."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        where = f"{name}:{number}"
        try:
            record = json.loads(line.decode("utf-8-sig"))
        except (ValueError, RecursionError) as error:
            raise DataError(what=f"this line is not JSON ({error})", where=where, hint=_FIX) from error
        yield where, _mapping(whole_letters(record, line), where, "line")


def _json_list(path: Path) -> Iterator[Record]:
    with reading_errors(path, "this is not JSON", "fetch the file again", ValueError, RecursionError):
        content = path.read_bytes()
        records = whole_letters(json.loads(content.decode("utf-8-sig")), content)
    for number, record in enumerate(records, 1):
        where = f"{path}: record {number}"
        yield where, _mapping(record, where, "record")


def _csv(path: Path) -> Iterator[Record]:
    kinds = (csv.Error, UnicodeDecodeError)
    unreadable = reading_errors(path, "this is not CSV in UTF-8", "fetch the file again", *kinds)
    with unreadable, path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file, strict=True)
        for row in reader:
            where = f"{path}:{reader.line_num}"
            if None in row or None in row.values():
                raise DataError(what="this row does not have the header's columns", where=where, hint=_FIX)
            yield where, dict(row)


def _parquet(path: Path) -> Iterator[Record]:
    require_pyarrow(str(path))
    import pyarrow
    import pyarrow.parquet as parquet

    kinds = (pyarrow.ArrowException, OSError, UnicodeDecodeError)
    unreadable = reading_errors(path, "this is not a readable parquet file", "fetch it again", *kinds)
    with unreadable, parquet.ParquetFile(path) as file:
        row = 0
        for group in range(file.num_row_groups):
            for record in file.read_row_group(group).to_pylist():
                row += 1
                yield f"{path}: row {row}", record


def _mapping(record: Any, where: str, unit: str) -> dict[str, Any]:
    if not isinstance(record, dict):
        raise DataError(what=f"this {unit} is not a JSON object", where=where, hint=_FIX)
    return record
