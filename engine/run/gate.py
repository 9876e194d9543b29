"""The gate a stage passes between two items: where pausing blocks and stopping raises."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from engine.events import Event, StagePaused, StageResumed

_POLL_SECONDS = 0.05


class StopRequested(Exception):
    """Raised by `checkpoint()` when the run was asked to stop. Stages let it pass: what is done is on disk."""


class Gate:
    """Requests may come from any thread and from signal handlers; checkpoints are passed by all threads that work.

    The waiting side polls plain flags: a lock or condition could be held by the very code that a signal
    handler interrupts. The only lock is between waiting threads, of which one logs the pause.
    """

    def __init__(self, emit: Callable[[Event], None], changed: Callable[[str], None] | None = None) -> None:
        """`emit` logs an event of the current stage; `changed` is called with `paused` and `running`."""
        self._emit = emit
        self._changed = changed or (lambda state: None)
        self._pause = False
        self._stop = False
        self._stop_after = False
        self._waiting = False
        self._log_lock = threading.Lock()
        self._paused_seconds = 0.0

    def pause(self) -> None:
        """Block at the next checkpoint."""
        self._pause = True

    def unpause(self) -> None:
        """Let what waits at a checkpoint continue."""
        self._pause = False

    def stop(self) -> None:
        """Raise at the next checkpoint, also when paused. Cannot be taken back."""
        self._stop = True

    def stop_after(self) -> None:
        """Raise where the unit of work at hand ends (an iteration); in a stage without such units, at its end."""
        self._stop_after = True

    @property
    def stopping(self) -> bool:
        """Whether a stop was asked for."""
        return self._stop

    @property
    def state(self) -> str:
        """running, pausing (not at a checkpoint yet), paused, stopping, or `stopping after this` (unit of work)."""
        if self._stop:
            return "stopping"
        if self._stop_after and not self._pause:
            return "stopping after this"
        if not self._pause:
            return "running"
        return "paused" if self._waiting else "pausing"

    def checkpoint(self) -> None:
        """Return at once, or wait while paused. Raises StopRequested."""
        if self._pause and not self._stop:
            self._wait()
        if self._stop:
            raise StopRequested

    def boundary(self) -> None:
        """A checkpoint where a larger unit of work ends."""
        if self._stop_after:
            self._stop = True
        self.checkpoint()

    def clock(self) -> float:
        """Seconds, of which none pass while the work is paused."""
        return time.monotonic() - self._paused_seconds

    def _wait(self) -> None:
        with self._log_lock:
            if self._pause and not self._stop:
                self._log_and_wait()

    def _log_and_wait(self) -> None:
        began = time.monotonic()
        self._changed("paused")  # before the event: who reads it looks at the record
        self._emit(StagePaused())
        self._waiting = True
        while self._pause and not self._stop:
            time.sleep(_POLL_SECONDS)
        self._waiting = False
        self._paused_seconds += time.monotonic() - began
        self._changed("running")
        if not self._stop:
            self._emit(StageResumed())
