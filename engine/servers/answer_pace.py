"""Progress of the answers that a role waits for, every few seconds: a stage behind a server is not silent."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from engine.events import Event, ModelWorking

EVERY = 2.0
"""Seconds between two reports."""


class AnswerPace:
    """Counts the answers of a role's client. Safe to be used from several threads."""

    def __init__(
        self, role: str, emit: Callable[[Event], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._role, self._emit, self._clock = role, emit, clock
        self._lock = threading.Lock()
        self._asked = self._answers = self._tokens = self._under_way = 0
        self._busy = 0.0
        self._changed_at = self._reported_at = clock()
        self._shown = False

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """An answer is waited for while inside, whether its request is under way or not; an error leaves it."""
        with self._lock:
            self._asked += 1
        try:
            yield
        except BaseException:
            with self._lock:
                self._asked -= 1
                self._end()
            raise

    @contextmanager
    def under_way(self) -> Iterator[None]:
        """A request is at the server while inside."""
        with self._lock:
            self._change(1)
        try:
            yield
        finally:
            with self._lock:
                self._change(-1)

    def answered(self, tokens: int) -> None:
        """An answer of so many tokens is there."""
        with self._lock:
            self._answers += 1
            self._tokens += tokens
            self._end()

    def report(self) -> None:
        """Emit how far the answers are, unless that was done a moment ago."""
        with self._lock:
            now = self._clock()
            if now - self._reported_at < EVERY:
                return
            self._reported_at, self._shown = now, True
            self._emit(self._event())

    def _end(self) -> None:
        """Where nothing is waited for any more, nobody is to go on reading that something is."""
        if self._shown and self._answers == self._asked:
            self._shown = False
            self._emit(self._event())

    def _event(self) -> ModelWorking:
        self._change(0)
        return ModelWorking(
            sequences=self._asked,
            done=self._answers,
            tokens=self._tokens,
            tokens_per_second=round(self._tokens / self._busy, 1) if self._busy else 0.0,
            role=self._role,
            under_way=self._under_way,
        )

    def _change(self, step: int) -> None:
        now = self._clock()
        if self._under_way:
            self._busy += now - self._changed_at
        self._changed_at = now
        self._under_way += step
