"""What people mark and write down on a run and its items; kept in `notes.jsonl` of the run's folder, beside the log and
never in it.

The file is only appended to, a line at a time, so two consoles may write at once and a kill tears at most the last
line. An item is named by the number of its event in the log; no number stands for the run as a whole.
"""

from __future__ import annotations

import fcntl
import getpass
import json
import os
import secrets
import time
from pathlib import Path
from typing import NamedTuple

import msgspec

from engine.errors import DiskError, disk_errors
from engine.files import json_line, whole_letters
from engine.regular_file import file_stamp, open_regular, open_to_read

FILE = "notes.jsonl"
LONGEST_TEXT = 4_000
"""Characters of a note; of one that is longer, the rest is left out."""
_LONGEST = {"author": 300, "id": 300, "item": 300, "text": LONGEST_TEXT}
_LONGEST_LINE = 1 << 16
_LARGEST = 8 << 20
"""Bytes of the file that are read; beyond them nothing is written."""
_LATEST = 1e11
NOTE, REMOVED, MARK, UNMARK = "note", "removed", "mark", "unmark"


class Entry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line of the file. `what`: note, removed (the note `id` was taken back), mark, unmark. `time`: Unix seconds;
    `author`: user of the operating system; `item`: what `seq` is, in words."""

    what: str
    time: float
    author: str = ""
    id: str = ""
    seq: int | None = None
    item: str = ""
    text: str = ""


class Written(NamedTuple):
    """All that is in a file: `marks` by event (the newest entry), `notes` in the order of writing; `skipped` lines are
    no entries."""

    marks: dict[int | None, Entry]
    notes: list[Entry]
    skipped: int = 0

    def of(self, seq: int | None) -> list[Entry]:
        """The notes on an item."""
        return [note for note in self.notes if note.seq == seq]


NOTHING = Written({}, [])


class Notes:
    """The notes of one run; `read` reads the file again when it has changed."""

    def __init__(self, run_dir: Path) -> None:
        self.path = run_dir / FILE
        self.written = NOTHING
        self._stamp: tuple[int, int] | None = None

    def read(self) -> bool:
        """Take in what is in the file; whether it has changed."""
        stamp = file_stamp(self.path)
        if stamp == self._stamp:
            return False
        written = read_notes(self.path.parent)
        changed = written != self.written
        self._stamp, self.written = stamp, written
        return changed

    def add(self, seq: int | None, item: str, text: str) -> None:
        """Write a note. Raises DiskError."""
        self._append(what=NOTE, seq=seq, item=item, text=text, id=secrets.token_hex(6))

    def remove(self, note: Entry) -> None:
        """Take a note back: it is listed no more, its line stays. Raises DiskError."""
        self._append(what=REMOVED, seq=note.seq, id=note.id)

    def toggle_mark(self, seq: int | None, item: str) -> bool:
        """Mark an item, or take its mark away; whether it is marked now. Raises DiskError."""
        self.read()
        marked = seq not in self.written.marks
        self._append(what=MARK if marked else UNMARK, seq=seq, item=item)
        return marked

    def _append(self, **fields: object) -> None:
        entry = msgspec.convert({"time": time.time(), "author": author(), **fields}, Entry)
        line = json_line(msgspec.to_builtins(_limited(entry))).encode()
        with disk_errors(self.path):
            file = open_regular(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW)
            try:
                fcntl.flock(file, fcntl.LOCK_EX)
                size = os.fstat(file).st_size
                if size + len(line) > _LARGEST:
                    raise DiskError(
                        what="this run has too many notes",
                        where=str(self.path),
                        hint="move the file away: a new one is begun",
                    )
                torn = size > 0 and os.pread(file, 1, size - 1) != b"\n"
                os.write(file, b"\n" * torn + line)
                os.fsync(file)
            finally:
                os.close(file)
        self.read()


def read_notes(run_dir: Path) -> Written:
    """The marks and notes of a run; none where there is no file. Lines that are no entries are passed over."""
    try:
        with open_to_read(run_dir / FILE) as file:
            data = file.read(_LARGEST)
    except OSError:
        return NOTHING
    marks: dict[int | None, Entry] = {}
    notes: dict[str, Entry] = {}
    skipped = 0
    for line in data.split(b"\n")[:-1]:  # what has no end of line yet is being written, or torn
        entry = _entry(line)
        if entry is None:
            skipped += bool(line.strip())
        elif entry.what == MARK:
            marks[entry.seq] = entry
        elif entry.what == UNMARK:
            marks.pop(entry.seq, None)
        elif entry.what == REMOVED:
            notes.pop(entry.id, None)
        else:
            notes.setdefault(entry.id, entry)
    return Written(marks, list(notes.values()), skipped)


def author() -> str:
    """The user's name in the operating system; their number where they have none."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return str(os.getuid())


def _entry(line: bytes) -> Entry | None:
    if len(line) > _LONGEST_LINE:
        return None
    try:
        entry = msgspec.convert(whole_letters(json.loads(line), line), Entry)
    except (ValueError, RecursionError):
        return None
    known = entry.what in (MARK, UNMARK) or (entry.what in (NOTE, REMOVED) and entry.id)
    if not known or not 0 <= entry.time < _LATEST or (entry.seq is not None and entry.seq < 0):
        return None
    return _limited(entry)


def _limited(entry: Entry) -> Entry:
    """The entry with texts that any file can hold, none too long."""
    kept = {name: getattr(entry, name)[:longest] for name, longest in _LONGEST.items()}
    texts = {name: text.encode(errors="replace").decode() for name, text in kept.items()}
    return msgspec.structs.replace(entry, **texts)
