"""Tell how far a call to a model is, every few seconds, and let a pause or stop in between its passes."""

from __future__ import annotations

import time
from collections.abc import Callable

from engine.events import Event, ModelWorking
from engine.lm.protocol import Working

EVERY = 2.0
"""Seconds between two reports. Shorter calls are not reported: their results say enough."""


class Reporting:
    """A model's `between`. `checkpoint` may block (pause) or raise (stop); `clock` gives seconds, of which none pass
    in a pause."""

    def __init__(
        self,
        emit: Callable[[Event], None],
        checkpoint: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._emit = emit
        self._checkpoint = checkpoint
        self._clock = clock
        self._call: object = None
        self._reported_at = 0.0
        self._tokens = 0

    def __call__(self, call: object, working: Callable[[], Working]) -> None:
        """Called between two passes; `call` is the mark of the call they belong to."""
        self._checkpoint()
        now = self._clock()
        if call is not self._call:
            self._call, self._reported_at, self._tokens = call, now, 0
        elif now - self._reported_at >= EVERY:
            self._report(working(), now)

    def _report(self, working: Working, now: float) -> None:
        self._emit(
            ModelWorking(
                sequences=working.sequences,
                done=working.done,
                tokens=working.tokens,
                tokens_per_second=round((working.tokens - self._tokens) / (now - self._reported_at), 1),
                text=working.text,
            )
        )
        self._reported_at, self._tokens = now, working.tokens
