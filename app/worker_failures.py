"""Workers that failed without an event in their log: no screen of their run can show why."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from app.runs.workers import Ended, Workers, how_it_ended
from engine.errors import RunError

if TYPE_CHECKING:
    from app.runs.session import RunSession

LOG_PATIENCE = 5.0
"""Seconds to wait until the log of an ended worker is read; its last line may be torn and never be readable."""


class WorkerFailures:
    """Finds them among `workers`."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._ended: list[tuple[Ended, float]] = []

    def look(self, session: RunSession | None) -> list[Ended]:
        """The workers to tell of that ended since the last call; `session`: the open run."""
        now = time.monotonic()
        self._ended += [(ended, now) for ended in self._workers.reap() if not ended.well]
        undecided: list[tuple[Ended, float]] = []
        failed: list[Ended] = []
        for ended, since in self._ended:
            shown = _shown_by_log(ended, session)
            if shown is None and now - since < LOG_PATIENCE:
                undecided.append((ended, since))
            elif not shown:
                failed.append(ended)
        self._ended = undecided
        return failed


def ended_error(ended: Ended) -> RunError:
    """Why a worker ended, and what can be done."""
    return RunError(
        what=ended.reason or how_it_ended(ended.code),
        where=str(ended.directory.worker_log),
        hint="everything finished is kept: correct the cause, then press r to resume the run"
        if ended.directory.record.exists()
        else "the run's folder is gone, with its results: start a new run",
    )


def _shown_by_log(ended: Ended, session: RunSession | None) -> bool | None:
    """Whether the run's own screen shows the failure; None while its log is still being read."""
    if session is None or session.run_dir.absolute() != ended.directory.path.absolute():
        return False
    if session.failed and session.cursor is None and not session.frozen:
        return True
    session.poll_now()
    return False if session.caught_up else None
