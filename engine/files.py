"""Files that survive a kill at any moment: atomic whole files, and append-only JSON lines with a torn tail."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from engine.errors import DataError, disk_errors
from engine.json_texts import changed_texts, whole
from engine.regular_file import open_regular, open_to_append, read_regular
from engine.spreadsheet import cell

_UNFINISHED = ".unfinished"
RESTORE = "restore the file, or remove it so that its stage writes it again"
_AT_ONCE = 16
_MOST_DIGITS = 20
_LONG = re.compile(rb"[0-9]{19}")
_unsynced: dict[Path, None] = {}
"""Files to which something was appended since they were put on the disk, in that order: a later one may say that an
earlier one is whole."""

Record = TypeVar("Record", bound=msgspec.Struct)
Decoded = TypeVar("Decoded")


def remove_unfinished(folder: Path) -> None:
    """Remove temporary files of a killed `write_atomic` below `folder`, where no other process may be writing."""
    for path in folder.rglob(f".*{_UNFINISHED}"):
        path.unlink(missing_ok=True)


def file_stem(identifier: str) -> str:
    """The name of a file that belongs to an id from data: a digest, because an id may be `../x`, hold a NUL, or differ
    from another in the case of its letters alone. The id itself stands inside the file, or in the list of files."""
    return hashlib.sha256(identifier.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def inside(folder: Path, name: str) -> Path:
    """`folder / name`, for a name read from a file. Raises DataError if that is not below `folder`."""
    parts = Path(name).parts
    if not parts or Path(name).is_absolute() or ".." in parts or "\0" in name:
        raise DataError(
            what=f"a file is named {name[:200]!r}, which is not in the folder it has to be in",
            where=str(folder),
            hint=RESTORE,
        )
    return folder / name


def required(path: Path, stage: str) -> Path:
    """`path`; raises DataError naming `stage`, which writes it, if it does not exist."""
    if not path.exists():
        raise DataError(
            what=f"`{path.name}` is not there",
            where=str(path),
            hint=f"run the stage `{stage}` of this run first",
        )
    return path


def write_atomic(path: Path, data: bytes | str) -> None:
    """Write to a temporary name beside `path`, fsync, rename. A reader sees either the old or the new file."""
    payload = data.encode() if isinstance(data, str) else data
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=_UNFINISHED)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(payload)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(temporary, 0o644)
            os.replace(temporary, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise


def write_all_atomic(files: Sequence[tuple[Path, bytes]]) -> None:
    """`write_atomic` for each file, several at a time: disks flush many waiting files together."""
    if files:
        with ThreadPoolExecutor(min(_AT_ONCE, len(files))) as pool:
            for _ in pool.map(lambda file: write_atomic(*file), files):
                pass


def json_line(record: dict[str, Any]) -> str:
    """A record as a compact line of JSON, newline included. Raises ValueError for NaN and infinity."""
    return json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(", ", ": ")) + "\n"


def csv_text(rows: Sequence[Mapping[str, Any]], names: Sequence[str] | None = None) -> str:
    """CSV with `names` as its columns, else those of the first row; "" without rows and names. No text in it is a
    formula to a spreadsheet."""
    if names is None and not rows:
        return ""
    text = io.StringIO(newline="")
    fieldnames = list(rows[0]) if names is None else list(names)
    writer = csv.DictWriter(text, fieldnames, lineterminator="\n", extrasaction="ignore")
    writer.writerow({name: cell(name) for name in fieldnames})
    writer.writerows({name: cell(value) for name, value in row.items()} for row in rows)
    return text.getvalue()


def write_jsonl(path: Path, records: Iterable[dict[str, Any]]) -> None:
    """Write a whole JSON-lines file atomically."""
    write_atomic(path, "".join(map(json_line, records)))


def append_jsonl(path: Path, records: Iterable[dict[str, Any]]) -> None:
    """Append records with one write: in the file on return, on the disk after the next `sync_appended`. A kill in
    between tears at most the tail."""
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with open_to_append(path) as file:
            file.write("".join(map(json_line, records)).encode())
    _unsynced[path] = None


def sync_appended() -> None:
    """Put on the disk what `append_jsonl` has written."""
    for path in list(_unsynced):
        _unsynced.pop(path, None)
        with disk_errors(path), suppress(FileNotFoundError), path.open("rb") as file:
            os.fsync(file.fileno())


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    """The records of all complete lines. A last line without newline is a torn write and is left out. Raises
    DataError with file and line number for an earlier line that is not a JSON object."""
    return list(_parse_lines(path, _bytes(path).split(b"\n")[:-1], _whole_number))


def _bytes(path: Path) -> bytes:
    """All of a file that may be missing. Raises FileNotFoundError, DataError."""
    try:
        return read_regular(path)
    except FileNotFoundError:
        raise
    except OSError as error:
        what = f"the file cannot be read: {error.strerror}"
        raise DataError(what=what, where=str(path), hint=RESTORE) from error


def whole_letters(value: Any, source: bytes) -> Any:
    """`value`, which stood as JSON in `source`, without the halves of letters that JSON can spell (`\\ud800`, or
    the bytes ED A0 80, which Python reads) and no file can hold; "?" for each."""
    return changed_texts(value, whole) if b"\\u" in source or b"\xed" in source else value


def decoded(path: Path, kind: type[Decoded], what: str, hint: str) -> Decoded:
    """The JSON of a whole file as `kind`. Raises DataError: `what`, why, and how to fix it."""
    try:
        return msgspec.json.decode(read_regular(path), type=kind)
    except OSError as error:
        why = error.strerror
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        why = str(error)
    except RecursionError:
        why = "it is nested too deeply"
    raise DataError(what=f"{what}: {why}", where=str(path), hint=hint)


def read_whole_jsonl(path: Path, hint: str = RESTORE) -> list[dict[str, Any]]:
    """The records of a file that is never appended to: a last line without newline means that the file was cut off.
    Raises DataError."""
    data = _bytes(path)
    if data and not data.endswith(b"\n"):
        number = data.count(b"\n") + 1
        raise DataError(what="the last line is cut off", where=f"{path}:{number}", hint=hint)
    return list(_parse_lines(path, data.split(b"\n")[:-1], int))


def _parse_lines(path: Path, lines: list[bytes], as_number: Callable[[str], int]) -> Iterable[dict[str, Any]]:
    for number, line in enumerate(lines, 1):
        parse_int = as_number if _LONG.search(line) else None  # which takes twice as long
        try:
            record = whole_letters(json.loads(line, parse_int=parse_int), line)
        except OverflowError as error:
            raise DataError(what=str(error), where=f"{path}:{number}", hint=RESTORE) from error
        except (ValueError, RecursionError):
            record = None
        if not isinstance(record, dict):
            raise DataError(what="this line is not a JSON object", where=f"{path}:{number}", hint=RESTORE)
        yield record


def _whole_number(text: str) -> int:
    """Raises OverflowError for one of more than 64 bits: it could be read, and never be logged again."""
    number = int(text) if len(text) <= _MOST_DIGITS else 1 << 64
    if not -1 << 63 <= number < 1 << 64:
        raise OverflowError(f"{text[:_MOST_DIGITS]}… is a number that no record holds")
    return number


def recover_jsonl(path: Path, keep: int | None = None) -> list[dict[str, Any]]:
    """Read an append-only file before appending to it again: cut a torn tail (and everything past the first
    `keep` records, if given) off the file itself. A missing file holds no records."""
    if not path.exists():
        return []
    lines = _bytes(path).split(b"\n")[:-1][:keep]
    records = list(_parse_lines(path, lines, _whole_number))
    size = sum(len(line) + 1 for line in lines)
    if size != path.stat().st_size:
        with disk_errors(path), os.fdopen(open_regular(path, os.O_RDWR | os.O_NOFOLLOW), "r+b") as file:
            file.truncate(size)
            os.fsync(file.fileno())
    return records


def recover_records(path: Path, kind: type[Record], hint: str = RESTORE) -> list[Record]:
    """`recover_jsonl` of records of one type. Raises DataError with file and line for any other line."""
    return typed(recover_jsonl(path), kind, path, hint)


def read_records(path: Path, kind: type[Record], hint: str = RESTORE) -> list[Record]:
    """`read_jsonl` of records of one type. Raises DataError with file and line for any other line."""
    return typed(read_jsonl(path), kind, path, hint)


def typed(
    rows: Iterable[dict[str, Any]], kind: type[Record], path: Path, hint: str = RESTORE
) -> list[Record]:
    """The lines of `path` as records of one type. Raises DataError with file, line and field for a line that is
    none."""
    return [converted(row, kind, f"{path}:{number}", hint) for number, row in enumerate(rows, 1)]


def converted(row: Any, kind: type[Decoded], where: str, hint: str) -> Decoded:
    """What JSON holds as `kind`. Raises DataError with the field that is wrong."""
    try:
        return msgspec.convert(row, kind)
    except msgspec.ValidationError as error:
        raise DataError(what=_in_words(error), where=where, hint=hint) from error


def _in_words(error: msgspec.ValidationError) -> str:
    """`layer`: expected int, got str. For a missing field: no field `layer`."""
    text = str(error)
    reason, _, place = text.partition(" - at `$.")
    if reason.startswith("Object missing required field"):
        return f"no field {reason.rpartition(' ')[2]}"
    if not place:
        return reason
    return f"`{place.rstrip('`')}`: {reason[0].lower()}{reason[1:].replace('`', '')}"


def recover_batches(path: Path, size: int, total: int) -> list[dict[str, Any]]:
    """`recover_jsonl` of a file that grows to `total` lines by batches of `size`: also cuts a torn batch off."""
    count = len(recover_jsonl(path))
    return recover_jsonl(path, keep=count if count >= total else count // size * size)
