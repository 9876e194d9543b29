"""A replica: a process that does a stage's work on the items it is given. What it has to say goes back with them."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from engine.events import Event, ModelLoaded
from engine.lm.shared_models import SharedModels
from engine.scale.work import Place, Work
from engine.servers.known_servers import KnownServers
from engine.servers.usage import RequestRecord, UsageBook
from engine.versions import versions


@dataclass
class Told:
    """What came up on the way: events, what work hands over early, and requests to servers."""

    events: list[Event] = field(default_factory=list)
    kept: list[Any] = field(default_factory=list)
    requests: list[RequestRecord] = field(default_factory=list)


@dataclass(frozen=True)
class Opened:
    """The replica is ready: where it is, and what it is made of; `models`: all that it has loaded so far, for another
    stage, too. `seconds` it took."""

    node: str
    pid: int
    gpus: list[str]
    versions: dict[str, str]
    models: list[ModelLoaded]
    told: Told
    seconds: float


@dataclass(frozen=True)
class Done:
    """What was found about an item, in `seconds` of work."""

    found: Any
    told: Told
    seconds: float


class _Requests(UsageBook):
    """Counted where the run's files are."""

    def __init__(self, take: Callable[[RequestRecord], None]) -> None:
        super().__init__()
        self._take = take

    def take(self, request: RequestRecord) -> None:
        self._take(request)


class Replica:
    """Models stay loaded from stage to stage. Whatever goes wrong is raised, and comes back as it is."""

    def __init__(self) -> None:
        os.environ["TOKENIZERS_PARALLELISM"] = "false"
        self._told = Told()
        self._loaded: list[Any] = []
        self._models = SharedModels(self._loaded.append)
        self._servers = KnownServers(_Requests(lambda request: self._told.requests.append(request)))
        self._do: Callable[[Any], Any] | None = None

    def open(self, stage: str, work: Work[Any, Any], replicas: int, gpus: list[str]) -> Opened:
        """Make ready for a stage's work, as one of `replicas`. Raises SteerError."""
        began = time.monotonic()
        place = Place(
            stage=stage,
            load_model=self._models,
            checkpoint=lambda: None,
            emit=lambda event: self._told.events.append(event),
            keep=lambda found: self._told.kept.append(found),
            servers=self._servers,
            places=replicas,
        )
        self._do = work.open(place)
        seconds = round(time.monotonic() - began, 3)
        models = list(self._loaded)
        return Opened(socket.gethostname(), os.getpid(), gpus, versions(), models, self._said(), seconds)

    def do(self, item: Any) -> Done:
        """One item."""
        assert self._do is not None, "open comes first"
        began = time.monotonic()
        found = self._do(item)
        return Done(found, self._said(), time.monotonic() - began)

    def _said(self) -> Told:
        told, self._told = self._told, Told()
        return told
