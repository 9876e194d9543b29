"""Which rows of a run are marked or have a note, by the place of their event in the log."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from app.runs.notes import Notes
from engine.run.find_event import find_event

MARKED, NOTED, BOTH = "◆", "◇", "◈"
"""Signs of a marked row, of one that has a note, and of one that has both."""
_AT_ONCE = 50
"""Events that are looked for in one turn."""


class ItemMarks:
    """`signs`: by the byte at which the row's event begins. `read` takes in what this and other consoles write."""

    def __init__(self, run_dir: Path) -> None:
        self.notes = Notes(run_dir)
        self.signs: Mapping[int, str] = {}
        self._log = run_dir / "events.jsonl"
        self._offsets: dict[int, int] = {}

    def read(self) -> bool:
        """Whether the signs have changed."""
        self.notes.read()
        written = self.notes.written
        signs_by_event = {note.seq: NOTED for note in written.notes}
        signs_by_event |= {seq: BOTH if seq in signs_by_event else MARKED for seq in written.marks}
        missing = [seq for seq in signs_by_event if seq is not None and seq not in self._offsets]
        for seq in missing[:_AT_ONCE]:
            self._offsets[seq] = self._offset(seq)
        known = [seq for seq in signs_by_event if seq in self._offsets]
        signs = {self._offsets[seq]: signs_by_event[seq] for seq in known}
        changed = signs != self.signs
        self.signs = signs
        return changed

    def _offset(self, seq: int) -> int:
        """-1 where the log has no such event."""
        try:
            entry = find_event(self._log, seq)
        except OSError:
            return -1
        return -1 if entry is None else entry.offset
