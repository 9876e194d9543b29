"""How many requests a server is asked at once: no more than it works on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from engine.servers.background import POLL_SECONDS
from engine.servers.http import Http

_PATIENCE = 5.0
"""Seconds for a server to say how many slots it has; most products have no such page."""


def server_slots(http: Http) -> int:
    """How many requests the server works on at once, as llama.cpp's says it; 0 where a server does not say."""
    slots = http.get_root("/props", _PATIENCE).fields.get("total_slots")
    return slots if type(slots) is int and slots > 0 else 0


@dataclass(eq=False)
class Held:
    """A slot that a request holds. `together`: most requests under way at once since it began, itself included."""

    together: int = 1


class Slots:
    """Those of a server, whoever asks it. `limit`: most requests at once, 0 where nothing is known of a limit."""

    def __init__(self) -> None:
        self.limit = 0
        self._first = threading.Lock()
        self._asked = False
        self._free = threading.Condition()
        self._held: list[Held] = []

    def ask_once(self, ask: Callable[[], int]) -> bool:
        """Take the limit from `ask`, the first time alone; whether that gave one. Others wait for it meanwhile."""
        with self._first:
            if self._asked:
                return False
            self._asked = True
            self.limit = ask()
            return self.limit > 0

    def lower(self, limit: int) -> bool:
        """Ask at most `limit` at once from now on; False where the limit is not above that."""
        with self._free:
            if 0 < self.limit <= limit:
                return False
            self.limit = limit
            return True

    @contextmanager
    def slot(self, most: int, look: Callable[[], None]) -> Iterator[Held]:
        """Hold a slot while inside; at most `most` at once, or as many as the limit allows where that is 0. `look` is
        called while none is free."""
        while (held := self._take(most)) is None:
            look()
        try:
            yield held
        finally:
            with self._free:
                self._held.remove(held)
                self._free.notify()

    def _take(self, most: int) -> Held | None:
        with self._free:
            if self._full(most):
                self._free.wait(POLL_SECONDS)
            if self._full(most):
                return None
            self._held.append(taken := Held())
            for held in self._held:
                held.together = max(held.together, len(self._held))
            return taken

    def _full(self, most: int) -> bool:
        return any(0 < limit <= len(self._held) for limit in (most, self.limit))
