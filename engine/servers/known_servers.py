"""What the roles of a worker share of the servers they ask: the form each takes, its slots, and what was spent."""

from __future__ import annotations

import threading

from engine.servers.request_form import RequestForm
from engine.servers.slots import Slots
from engine.servers.usage import UsageBook


class KnownServer:
    """A server's model. `form` is what it took last."""

    def __init__(self) -> None:
        self.form = RequestForm()
        self._lock = threading.Lock()

    def learn(self, old: RequestForm, new: RequestForm) -> bool:
        """Ask in the form `new` from now on; False where another thread has left `old` before."""
        with self._lock:
            if self.form != old:
                return False
            self.form = new
            return True


class KnownServers:
    """By address, and by model where models of a server differ; and what was reported of them."""

    def __init__(self, usage: UsageBook | None = None) -> None:
        self.usage = usage or UsageBook()
        self._lock = threading.Lock()
        self._servers: dict[tuple[str, str], KnownServer] = {}
        self._slots: dict[str, Slots] = {}
        self._noticed: set[str] = set()

    def first_time(self, what: str) -> bool:
        """Whether `what` is reported for the first time."""
        with self._lock:
            new = what not in self._noticed
            self._noticed.add(what)
            return new

    def server(self, address: str, model: str) -> KnownServer:
        """What is known of a model there."""
        with self._lock:
            return self._servers.setdefault((address.rstrip("/"), model), KnownServer())

    def slots(self, address: str) -> Slots:
        """Those of a server, whoever asks it."""
        with self._lock:
            return self._slots.setdefault(address.rstrip("/"), Slots())
