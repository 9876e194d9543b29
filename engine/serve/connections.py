"""Connections of clients: each has a time in which its request has to begin, and no flood of them shuts others out."""

from __future__ import annotations

import asyncio
import logging
import resource
import time

from uvicorn.protocols.http.h11_impl import H11Protocol

MOST_WAITING = 1024
"""Connections without a whole request; a further one takes the place of the oldest."""
_FILES = 8192
_QUIET = 60.0
"""Seconds in which a warning is logged once."""


class PatientProtocol(H11Protocol):
    """uvicorn's, which by itself waits for ever for the head of a request. Subclassed for each server by `patient`."""

    patience: float
    most: int
    waiting: dict[PatientProtocol, asyncio.TimerHandle]

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.waiting) >= self.most:
            next(iter(self.waiting))._drop()
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_waiting()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """With the head of a request the waiting is over: the rest has its own limits."""
        before = self.cycle
        super().handle_events()
        if self.cycle is not before:
            self._end_waiting()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.cycle.response_complete and not self.transport.is_closing():
            self._wait()

    def _wait(self) -> None:
        self._end_waiting()
        self.waiting[self] = self.loop.call_later(self.patience, self._drop)

    def _end_waiting(self) -> None:
        if (timer := self.waiting.pop(self, None)) is not None:
            timer.cancel()

    def _drop(self) -> None:
        self._end_waiting()
        self.transport.abort()


def patient(patience: float) -> type[PatientProtocol]:
    """The protocol of one server: `patience` is the seconds that a request may take to begin. Half of the process's
    files are left to other things."""
    most = min(MOST_WAITING, allow_many_files() // 2)
    return type("Patient", (PatientProtocol,), {"patience": patience, "most": most, "waiting": {}})


def allow_many_files() -> int:
    """Raise the limit of open files as far as connections need and the hard limit goes; how many are allowed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = _FILES if hard == resource.RLIM_INFINITY else min(_FILES, hard)
    if soft == resource.RLIM_INFINITY or soft >= files:
        return files
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))
    return files


class ThrottledWarnings(logging.Filter):
    """Lets each warning through once a minute: what strangers send does not fill the log."""

    def __init__(self) -> None:
        super().__init__()
        self._logged: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to log it."""
        now, text = time.monotonic(), str(record.msg)[:100]
        if now - self._logged.get(text, -_QUIET) < _QUIET:
            return False
        self._logged[text] = now
        return True
