"""What a case is drawn from: the state of its run, and the events of the log that belong to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.state.run import RunState
from engine.errors import DataError
from engine.events import Event


@dataclass(frozen=True)
class CaseSource:
    """Where the events belonging to a case are found. `read`: an event from its place in the log; `step`: which of a
    case's steps is shown (a turn of a conversation); None: the last."""

    run_dir: Path
    state: RunState
    read: Callable[[int, int], Event]
    step: int | None = None

    def at(self, place: tuple[int, int] | None, kind: type[Any]) -> Any:
        """The event at a place; None where there is none of that kind."""
        if place is None:
            return None
        try:
            event = self.read(*place)
        except (DataError, OSError):
            return None
        return event if isinstance(event, kind) else None
