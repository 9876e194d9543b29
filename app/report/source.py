"""What documents are made from: a run's record, its log folded to a state, and what people wrote on it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from app.methods.source import CaseSource
from app.runs.notes import Written, read_notes
from app.state.run import RunState
from engine.events import ModelLoaded
from engine.run.directory import RunDirectory, RunStatus, inspect
from engine.run.event_log import LogReader, read_event


@dataclass(frozen=True)
class RunSource:
    """A run as reports see it. `models`: that it loaded, each once; `damaged`: lines of the log that are not events."""

    status: RunStatus
    cases: CaseSource
    written: Written
    models: list[ModelLoaded]
    damaged: int

    @property
    def state(self) -> RunState:
        """After the last event."""
        return self.cases.state

    @property
    def path(self) -> Path:
        """The run's folder."""
        return self.status.directory.path


def read_run(directory: RunDirectory) -> RunSource:
    """Read a run, finished or under way. Raises RunError."""
    status = inspect(directory.path)
    state = RunState()
    models: dict[tuple[str, str], ModelLoaded] = {}
    reader = LogReader(directory.events)
    while entries := reader.poll():
        for entry in entries:
            state.apply(*entry)
            if isinstance(entry.event, ModelLoaded):
                models[entry.event.name, entry.event.fingerprint] = entry.event
    cases = CaseSource(directory.path, state, lambda *place: read_event(directory.events, *place))
    return RunSource(status, cases, read_notes(directory.path), list(models.values()), reader.broken)
