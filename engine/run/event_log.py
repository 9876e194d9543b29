"""`events.jsonl`: append-only, one event a line, written by a single worker and followed by any number of readers.

A kill can tear only the last line, because every event is one `write` and nothing is ever rewritten: a reader
leaves a line without newline alone until it is whole, a writer that takes the log up again cuts it off. An
earlier line that is no event means that something else wrote into the file, and is an error.
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from engine.errors import DataError, DiskError, RunError, disk_errors, reading_errors
from engine.events import (
    SCHEMA_VERSION,
    Event,
    Header,
    StageFailed,
    StageFinished,
    StageStopped,
    Unknown,
    WorkerStarted,
    WorkerStopped,
    decode,
    decode_all,
    encode,
)
from engine.files import sync_appended
from engine.regular_file import open_regular, open_to_read, written_from
from engine.run.directory import RunRecord

_BOUNDARIES = (Header, WorkerStarted, WorkerStopped, StageFinished, StageFailed, StageStopped)
_CHUNK = 1 << 18
LONGEST_LINE = 1 << 26
"""Bytes of a line: what is longer is no event, and is not held in memory as a whole."""


class LogEntry(NamedTuple):
    """An event and the bytes it takes in the log (`length` without the newline)."""

    event: Event
    offset: int
    length: int


class LogPlace(NamedTuple):
    """Where an event stands in the log, in bytes; `length` without the newline."""

    offset: int
    length: int


def header_of(record: RunRecord) -> Header:
    """The first line of a run's log."""
    return Header(
        schema_version=SCHEMA_VERSION, name=record.name, run_id=record.run_id, seed=record.seeds.get("run", 0),
        stages=list(record.stages), versions=record.versions,
    )  # fmt: skip


class EventLog:
    """The writing end. `emit` may be called from any thread.

    Every event is in the file when `emit` returns; it is on the disk after a stage boundary or the next
    `sync()`, which the worker calls about once a second.
    """

    def __init__(self, path: Path, header: Header, clock: Callable[[], float] = time.time) -> None:
        """Open `path` for appending. A new log begins with `header`; an old one loses its torn tail."""
        self._path = path
        self._clock = clock
        self._lock = threading.Lock()
        self._dirty = False
        self._failure: Exception | None = None
        with disk_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = open_regular(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW)
        self._size, self._next = self._recover()
        if self._next == 0:
            self.emit(header)

    def emit(self, event: Event, stage: str = "") -> Event:
        """Append `event`, stamped with number, time and stage, as which it is returned.

        Raises DiskError (the log stays whole), and ValueError for an event that no reader could read back.
        """
        with self._lock:
            if self._failure is not None:
                raise self._failure
            self.check_place()
            stamped = msgspec.structs.replace(
                event, seq=self._next, time=self._clock(), stage=event.stage or stage
            )
            self._append(_readable(encode(stamped)))
            self._next += 1
        if isinstance(event, _BOUNDARIES):
            self.sync()
        return stamped

    @property
    def events(self) -> int:
        """How many are in the log."""
        return self._next

    def check_place(self) -> None:
        """Raise DiskError where the log is no longer what lies at its path: whatever is written by path from now on
        would lie apart from it."""
        with suppress(OSError):
            if os.path.samestat(os.stat(self._path), os.fstat(self._file)):
                return
        raise DiskError(
            what="the run's folder was moved or deleted while the engine worked in it",
            where=str(self._path.parent),
            hint="if it was moved, resume it where it is now; if it was deleted, start a new run",
        )

    def sync(self) -> None:
        """Put on the disk what is in the file, and before it what stages have appended to theirs. A failure is raised
        here and by every later `emit`."""
        if not self._dirty:
            return
        self._dirty = False
        try:
            sync_appended()
            with disk_errors(self._path):
                os.fsync(self._file)
        except Exception as error:
            self._failure = error
            raise

    def close(self) -> None:
        """Sync and close."""
        try:
            self.sync()
        finally:
            os.close(self._file)

    def _append(self, line: bytes) -> None:
        written = 0
        try:
            with disk_errors(self._path):
                while written < len(line):
                    written += os.pwrite(self._file, line[written:], self._size + written)
        except BaseException:
            os.ftruncate(self._file, self._size)
            raise
        self._size += len(line)
        self._dirty = True

    def _recover(self) -> tuple[int, int]:
        """(size without a torn tail, next seq); cuts the tail off."""
        size = os.fstat(self._file).st_size
        end = self._newline_before(size) + 1
        if end != size:
            with disk_errors(self._path):
                os.ftruncate(self._file, end)
                os.fsync(self._file)
        if end == 0:
            return 0, 0
        start = self._newline_before(end - 1) + 1
        seq = event_number(os.pread(self._file, end - 1 - start, start))
        if seq is None:
            raise _broken(f"{self._path}, byte {start}")
        return end, seq + 1

    def _newline_before(self, end: int) -> int:
        """Offset of the last newline before `end`, or -1."""
        while end > 0:
            start = max(0, end - _CHUNK)
            newline = os.pread(self._file, end - start, start).rfind(b"\n")
            if newline >= 0:
                return start + newline
            end = start
        return -1


class LogReader:
    """Follows a log, live or finished, from its beginning or a known place.

    `offset`: end of the last line read; `line`: its number, if it began at the first; `unknown`: how many events of
    which unknown types were skipped; `broken`: lines that are no events, and `first_broken` the number of the first.
    Nothing is buffered between polls, so a tail that a resuming worker cuts off is never seen.
    """

    def __init__(self, path: Path, offset: int = 0) -> None:
        self.path = path
        self.offset = offset
        self.line = 0
        self.unknown: Counter[str] = Counter()
        self.broken = self.first_broken = 0

    @property
    def damage(self) -> str:
        """What is to be said of the lines that are no events; "" where there are none."""
        where = f"the first is {self.path}:{self.first_broken}"
        return f"damaged lines of the log, passed over: {self.broken}; {where}" if self.broken else ""

    def poll(self, max_events: int = 10_000) -> list[LogEntry]:
        """The next events, at most `max_events`; none when there is nothing new (or no log yet). Lines that are no
        events are counted and passed over.

        Raises RunError where the log cannot be read, or is shorter than before: then so does the next poll.
        """
        while True:
            before = self.offset
            entries = self._decode(self._read(), max_events)
            if entries or self.offset == before:
                return entries

    def _decode(self, data: bytes, max_events: int) -> list[LogEntry]:
        base, ends = self.offset, _ends(data, max_events)
        if ends and (events := decode_all(data[: ends[-1]], len(ends))) is not None:
            starts = [0, *(end + 1 for end in ends[:-1])]
            self.offset, self.line = base + ends[-1] + 1, self.line + len(ends)
            return [
                LogEntry(event, base + at, end - at)
                for event, at, end in zip(events, starts, ends, strict=True)
            ]
        return self._decode_each(data, max_events)

    def _decode_each(self, data: bytes, max_events: int) -> list[LogEntry]:
        """What `_decode` gives, line by line: where one is broken, or of an unknown type."""
        entries: list[LogEntry] = []
        base, at = self.offset, 0
        while len(entries) < max_events and (end := data.find(b"\n", at)) >= 0:
            try:
                event = decode(data[at:end])
            except msgspec.DecodeError:
                self._count_broken()
            else:
                if isinstance(event, Unknown):
                    self.unknown[event.type] += 1
                else:
                    entries.append(LogEntry(event, base + at, end - at))
            at = end + 1
            self.offset = base + at
            self.line += 1
        if not entries and len(data) - at >= LONGEST_LINE:
            self.offset = base + len(data)
            self._count_broken()
        return entries

    def behind(self) -> int:
        """Bytes of the log not read yet."""
        try:
            return max(0, self.path.stat().st_size - self.offset)
        except OSError:
            return 0

    def _count_broken(self) -> None:
        """The line behind the last is no event."""
        self.broken += 1
        self.first_broken = self.first_broken or self.line + 1

    def _read(self) -> bytes:
        """Bytes from `offset` on that hold at least one whole line, if the file does."""
        try:
            file = open_to_read(self.path)
        except FileNotFoundError:
            return b""
        except OSError as error:
            what = f"the log cannot be read: {error.strerror}"
            raise RunError(what=what, where=str(self.path), hint="make it readable") from error
        with file:
            size = os.fstat(file.fileno()).st_size
            if size < self.offset:
                raise RunError(
                    what=f"the log is shorter ({size} bytes) than what was already read of it ({self.offset})",
                    where=str(self.path),
                    hint="open the run again; if this repeats, something else writes into its folder",
                )
            self._pass_hole(file.fileno())
            length = _CHUNK
            while True:
                data = os.pread(file.fileno(), length, self.offset)
                if b"\n" in data or len(data) < length or length >= LONGEST_LINE:
                    return data
                length *= 4

    def _pass_hole(self, file: int) -> None:
        """Pass over a stretch that was never written."""
        written = written_from(file, self.offset)
        if written - self.offset >= LONGEST_LINE:
            self.offset = written
            self._count_broken()


def _ends(data: bytes, most: int) -> list[int]:
    """Where the first lines end, at most so many."""
    ends: list[int] = []
    while len(ends) < most and (end := data.find(b"\n", ends[-1] + 1 if ends else 0)) >= 0:
        ends.append(end)
    return ends


def read_event(path: Path, offset: int, length: int) -> Event:
    """Read one event again, whole, from where a `LogReader` found it. Raises DataError if it is not there, or the log
    is not there any more."""
    hint = "put the run's folder back where it was, or open the run anew"
    with reading_errors(path, "the log cannot be read any more", hint, OSError), open_to_read(path) as file:
        line = os.pread(file.fileno(), length, offset)
    try:
        event = decode(line)
    except msgspec.DecodeError as error:
        raise _broken(f"{path}, byte {offset}") from error
    if isinstance(event, Unknown):
        raise _broken(f"{path}, byte {offset}")
    return event


class _Numbered(msgspec.Struct):
    seq: int = 0


def event_number(line: bytes) -> int | None:
    """The number of the event in a line, also of an unknown type; None where it is no event."""
    try:
        return msgspec.json.decode(line, type=_Numbered).seq
    except (msgspec.DecodeError, RecursionError):
        return None


def _readable(line: bytes) -> bytes:
    """`line`, if it decodes. Not a number is the usual reason why not: JSON has only null for it."""
    try:
        decode(line)
    except msgspec.DecodeError as error:
        raise ValueError(f"this event cannot be read back ({error}): {line[:300]!r}") from error
    return line


def _broken(where: str) -> DataError:
    return DataError(
        what="this line is not an event",
        where=where,
        hint="restore the log from a copy, or take the line out; the run's other files are not affected",
    )
