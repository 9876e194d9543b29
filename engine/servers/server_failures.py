"""A server that fails at everything ends the stage; a resumed run asks again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from engine.errors import SteerError

DEAD_AFTER = 8
"""Failures of a server in a row that end the stage."""
Record = TypeVar("Record")


class ServerFailures(Generic[Record]):
    """Failures in a row. Their records are held back, and written once the server answers again."""

    def __init__(self, write: Callable[[Record], None]) -> None:
        self._write = write
        self._held: list[tuple[Record, SteerError]] = []

    def take(self, record: Record, failure: SteerError | None = None) -> None:
        """A record, with the server's failure if it failed. Raises the failure that is one too many."""
        if failure is None:
            if len(self._held) < DEAD_AFTER:
                self.end()
            self._write(record)
            return
        self._held.append((record, failure))
        if len(self._held) >= DEAD_AFTER:
            raise failure

    def end(self, asked: int = 0) -> None:
        """Write what is held. Raises the last failure if all of `asked` items failed, where these are two or more."""
        if len(self._held) == asked > 1:
            raise self._held[-1][1]
        for record, _ in self._held:
            self._write(record)
        self._held = []
