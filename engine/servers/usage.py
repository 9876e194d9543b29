"""What requests to servers cost: a line each in `usage.jsonl` of the run, and totals for each stage and role.

The lines are the truth: a run that was killed counts on from them. The log has the totals.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Literal

import msgspec

from engine.errors import SteerError, disk_errors
from engine.events import Event, ServerUsage
from engine.files import recover_records
from engine.regular_file import open_to_append

_REPORT_EVERY = 1.0
"""Seconds between two events about a role."""
_FIX = "restore the file, or remove it: what was spent before is then no longer counted"

Outcome = Literal["answered", "refused form", "queued", "tried again", "failed", "stopped"]
"""`refused form`: sent again at once in another form; `queued`: no answer in time, where more were asked at once than
the server works on; sent again when fewer are; `stopped`: left while under way, which may cost all the same."""


class RequestRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A request that was sent. `attempt` counts from 1; `why`: what was wrong with it. Tokens are None where the server
    does not count them. Times in seconds, as in `ServerUsage`."""

    time: float
    stage: str
    role: str
    server: str
    model: str
    outcome: Outcome
    attempt: int = 1
    why: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    seconds: float = 0.0
    waited: float = 0.0
    cost: float | None = None


class UsageBook:
    """Totals of a run's requests. Safe to be used from several threads; without a folder nothing is written."""

    def __init__(
        self, folder: Path | None = None, emit: Callable[[Event], None] = lambda event: None
    ) -> None:
        self._folder = folder
        self._emit = emit
        self._lock = threading.Lock()
        self._file: IO[bytes] | None = None
        self._reported_at: dict[tuple[str, str], float] = {}
        self.totals: dict[tuple[str, str], ServerUsage] = {}
        """By stage and role."""

    def open(self) -> None:
        """Go on from what is in the file, and report it. Raises DataError for a malformed line, and DiskError."""
        with self._lock:
            if self._folder is None or self._file is not None:
                return
            path = self._folder / "usage.jsonl"
            for request in recover_records(path, RequestRecord, _FIX):
                self._add(request)
            with disk_errors(path):
                path.parent.mkdir(parents=True, exist_ok=True)
                self._file = open_to_append(path, 0)
            for total in self.totals.values():
                self._emit(total)

    def take(self, request: RequestRecord) -> None:
        """Write the request down and add it up. Raises DiskError."""
        self.open()
        with self._lock:
            if self._file is not None and self._folder is not None:
                with disk_errors(self._folder / "usage.jsonl"):
                    self._file.write(msgspec.json.encode(request) + b"\n")
            key = self._add(request)
            if time.monotonic() - self._reported_at.get(key, float("-inf")) >= _REPORT_EVERY:
                self._report(key)

    def settle(self) -> None:
        """Bring lines to the disk, totals into events. What goes wrong is left for the next time: the lines are
        there."""
        with self._lock, suppress(SteerError, OSError):
            for key in self.totals:
                self._report(key)
            if self._file is not None:
                os.fsync(self._file.fileno())

    def _report(self, key: tuple[str, str]) -> None:
        self._reported_at[key] = time.monotonic()
        self._emit(self.totals[key])

    def _add(self, request: RequestRecord) -> tuple[str, str]:
        key = (request.stage, request.role)
        self.totals[key] = added(self.totals.get(key), request)
        return key


def added(total: ServerUsage | None, request: RequestRecord) -> ServerUsage:
    """The total with one more request in it."""
    if total is None:
        total = ServerUsage(
            stage=request.stage, role=request.role, server=request.server, model=request.model
        )
    answered, counted = request.outcome == "answered", request.prompt_tokens is not None
    cost = total.cost if request.cost is None else (total.cost or 0.0) + request.cost
    return msgspec.structs.replace(
        total,
        server=request.server,
        model=request.model,
        requests=total.requests + 1,
        answered=total.answered + answered,
        retries=total.retries + (request.attempt > 1),
        failures=total.failures + (request.outcome == "failed"),
        prompt_tokens=total.prompt_tokens + (request.prompt_tokens or 0),
        completion_tokens=total.completion_tokens + (request.completion_tokens or 0),
        unreported=total.unreported + (answered and not counted),
        seconds=round(total.seconds + request.seconds, 3),
        waited=round(total.waited + request.waited, 3),
        cost=None if cost is None else round(cost, 9),
    )
