"""What the roles of a worker share of the servers they ask: the form each takes, its places, and what was spent."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from engine.servers.background import LOOK_EVERY
from engine.servers.request_form import RequestForm
from engine.servers.usage import UsageBook


class KnownServer:
    """A server's model. `form` is what it took last."""

    def __init__(self) -> None:
        self.form = RequestForm()
        self._guard = threading.Lock()

    def learn(self, old: RequestForm, new: RequestForm) -> bool:
        """Ask in the form `new` from now on; False where another thread has left `old` before."""
        with self._guard:
            if self.form != old:
                return False
            self.form = new
            return True


class Places:
    """How many requests may be under way at a server at once."""

    def __init__(self) -> None:
        self._free = threading.Condition()
        self._taken = 0

    @contextmanager
    def slot(self, most: int, look: Callable[[], None]) -> Iterator[None]:
        """Hold a place while inside; 0: there are as many as are needed. `look` is called while none is free."""
        while not self._take(most):
            look()
        try:
            yield
        finally:
            with self._free:
                self._taken -= 1
                self._free.notify()

    def _take(self, most: int) -> bool:
        with self._free:
            if most and self._taken >= most:
                self._free.wait(LOOK_EVERY)
            if most and self._taken >= most:
                return False
            self._taken += 1
            return True


class KnownServers:
    """By address, and by model where models of a server differ; and what was reported of them."""

    def __init__(self, usage: UsageBook | None = None) -> None:
        self.usage = usage or UsageBook()
        self._guard = threading.Lock()
        self._servers: dict[tuple[str, str], KnownServer] = {}
        self._places: dict[str, Places] = {}
        self._noticed: set[str] = set()

    def first_time(self, what: str) -> bool:
        """Whether `what` is reported for the first time."""
        with self._guard:
            new = what not in self._noticed
            self._noticed.add(what)
            return new

    def server(self, address: str, model: str) -> KnownServer:
        """What is known of a model there."""
        with self._guard:
            return self._servers.setdefault((address.rstrip("/"), model), KnownServer())

    def places(self, address: str) -> Places:
        """Those of a server, whoever asks it."""
        with self._guard:
            return self._places.setdefault(address.rstrip("/"), Places())
