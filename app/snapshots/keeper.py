"""When a session loads and saves the snapshot of its log."""

from __future__ import annotations

from pathlib import Path

from app.snapshots.snapshot import Snapshot, Stamp, load, save

LONG = 10_000_000
"""Bytes from which on a log takes so long to read (a fifth of a second) that a snapshot of it is worth its room."""


class SnapshotKeeper:
    """Of the log of one session. Made for one thread."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._before = Stamp.of(log)
        self._saved = 0
        self._proven = True

    def load(self) -> Snapshot | None:
        """What is known of the log from the last time; None where nothing is."""
        loaded = load(self._log) if self._before is not None and self._before.size >= LONG else None
        if loaded is None:
            return None
        snapshot, self._proven = loaded
        self._saved = snapshot.prefix.offset
        return snapshot

    def is_due(self, offset: int, at_rest: bool = False) -> bool:
        """Whether a snapshot up to byte `offset` is worth its writing: much was read since the last one, or something
        of a log that rests (`at_rest`: no worker writes)."""
        new = offset - self._saved
        if offset < LONG:
            return False
        if at_rest:
            return new > LONG // 10 or not self._proven
        return new > max(LONG, self._saved // 4)

    def save(self, snapshot: Snapshot) -> None:
        """Keep it for the next time, if possible."""
        self._saved, self._proven = snapshot.prefix.offset, True  # one try
        save(self._log, snapshot, self._before)
