"""An event of a log by its number: found by halving, without reading the log."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from engine.errors import DataError
from engine.events import Event, Unknown, decode
from engine.regular_file import open_to_read, written_from
from engine.run.event_log import LONGEST_LINE, LogEntry, event_number

_NEAR = 1 << 16
"""Bytes that are read line by line."""


def find_event(path: Path, seq: int) -> LogEntry | None:
    """The event with number `seq` and its place; None if the log has none that this program knows. Raises OSError."""
    with open_to_read(path) as file:
        low, high = 0, os.fstat(file.fileno()).st_size
        while high - low > _NEAR:  # the line begins at `low`, or behind it and before `high`
            middle = (low + high) // 2
            if (written := written_from(file.fileno(), middle)) >= high:
                high = middle  # nothing is written there, so no line begins there
                continue
            file.seek(written)
            while (rest := file.readline(LONGEST_LINE)) and not rest.endswith(b"\n"):
                continue  # in pieces: a line may have no end
            start, number = file.tell(), None
            while start < high and (number := event_number(file.readline(LONGEST_LINE))) is None:
                start = file.tell()
            if number is None or number > seq:
                high = middle + 1
            else:
                low = start
        file.seek(low)
        while (start := file.tell()) < high and (line := file.readline(LONGEST_LINE)):
            if line.endswith(b"\n") and event_number(line) == seq:
                return _entry(line[:-1], start)
    return None


def event_at(path: Path, offset: int) -> Event:
    """The event that begins at byte `offset`. Raises DataError if none does, OSError."""
    with open_to_read(path) as file:
        file.seek(offset)
        entry = _entry(file.readline(LONGEST_LINE).rstrip(b"\n"), offset)
    if entry is None:
        raise DataError(
            what="no event begins there", where=f"{path}, byte {offset}", hint="open the run again"
        )
    return entry.event


def _entry(line: bytes, offset: int) -> LogEntry | None:
    try:
        event = decode(line)
    except msgspec.DecodeError:
        return None
    return None if isinstance(event, Unknown) else LogEntry(event, offset, len(line))
