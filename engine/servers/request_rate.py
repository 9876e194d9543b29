"""How fast requests may follow each other, over all threads that send them."""

from __future__ import annotations

import threading


class RequestRate:
    """Evenly spaced places in time. Safe to be used from several threads."""

    def __init__(self, per_minute: float) -> None:
        """0: no limit."""
        self._gap = 60 / per_minute if per_minute else 0.0
        self._free = float("-inf")
        self._lock = threading.Lock()

    def next_wait(self, now: float) -> float:
        """Take the next place; the seconds from `now` until it is due."""
        with self._lock:
            due = max(now, self._free)
            self._free = due + self._gap
            return due - now
