"""A run session over events in memory: everything a screen asks for, without threads or files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from app.runs.orders import UserMessage
from app.runs.session import RunSession
from app.state.event_index import EventIndex
from app.state.run import RunState
from engine.events import Event
from engine.run.directory import RunStatus

Entries = Sequence[tuple[Event, int, int]]


class RecordedSession(RunSession):
    """A session that follows nothing. `grow` lets more of the events happen."""

    def __init__(self, entries: Entries, run_dir: Path, upto: int | None = None) -> None:
        self.run_dir = run_dir
        self.cursor: int | None = None
        self.frozen = False
        self.status: RunStatus | None = None
        self.sent: list[str] = []
        self.stop_requested = False
        self.index = EventIndex()
        self._entries = entries
        self._by_place = {(offset, length): event for event, offset, length in entries}
        self._live = RunState()
        self._past: RunState | None = None
        self._changes = 0
        self._happened = 0
        self.grow(len(entries) if upto is None else upto)

    def grow(self, events: int) -> None:
        """Let that many more events happen."""
        for entry in self._entries[self._happened : self._happened + events]:
            self._live.apply(*entry)
            self.index.add(entry[0])
            self._happened += 1

    @property
    def total_events(self) -> int:
        return self._happened

    @property
    def state(self) -> RunState:
        return self._live if self._past is None else self._past

    @property
    def revision(self) -> int:
        return self._changes * 1_000_000_000 + self.state.seq

    @property
    def reading(self) -> float | None:
        return None

    @property
    def behind(self) -> int:
        return self._live.seq - self.state.seq

    def update(self) -> bool:
        return False

    def take_messages(self) -> list[UserMessage]:
        return []

    def seek(self, seq: int | None) -> None:
        self._changes += 1
        self.cursor, self.frozen = seq, False
        self._past = None
        if seq is not None:
            self._past = RunState()
            for entry in self._entries[: seq + 1]:
                self._past.apply(*entry)

    def freeze(self) -> None:
        self._changes += 1
        self.frozen = True
        self._past = self.state.share()

    def send(self, command: str) -> None:
        self.sent.append(command)
        self.stop_requested |= command == "stop"

    def read(self, offset: int, length: int) -> Event:
        return self._by_place[offset, length]
