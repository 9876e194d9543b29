"""A replica: a process that does a stage's work on the items it is given, and reports events while it works."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from engine.events import Event, ModelLoaded
from engine.lm.shared_models import SharedModels
from engine.scale.work import Work, WorkContext
from engine.servers.known_servers import KnownServers
from engine.servers.usage import RequestRecord, UsageBook
from engine.versions import versions


@dataclass
class SideOutput:
    """What the work produced beside its result: what it hands over early, and requests to servers."""

    kept: list[Any] = field(default_factory=list)
    requests: list[RequestRecord] = field(default_factory=list)


@dataclass(frozen=True)
class Opened:
    """Where a replica that is ready runs, and with which versions and models. `models`: all that it has loaded so far,
    also for earlier stages; `seconds`: how long opening took."""

    node: str
    pid: int
    gpus: list[str]
    versions: dict[str, str]
    models: list[ModelLoaded]
    side_output: SideOutput
    seconds: float


@dataclass(frozen=True)
class Done:
    """The result of an item."""

    result: Any
    side_output: SideOutput


class _Requests(UsageBook):
    """Hands requests on: the worker, which has the run's files, counts them."""

    def __init__(self, take: Callable[[RequestRecord], None]) -> None:
        super().__init__()
        self._take = take

    def take(self, request: RequestRecord) -> None:
        self._take(request)


class Replica:
    """Does work item by item. Models stay loaded from stage to stage; the worker receives what is raised, unchanged."""

    def __init__(self, emit: Callable[[Event], None]) -> None:
        """`emit` takes an event to the worker at once; any thread may call it."""
        os.environ["TOKENIZERS_PARALLELISM"] = "false"
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
        self._emit = emit
        self._side_output = SideOutput()
        self._loaded: list[ModelLoaded] = []
        self._models = SharedModels(self._note_loaded)
        self._servers = KnownServers(_Requests(lambda request: self._side_output.requests.append(request)))
        self._do: Callable[[Any], Any] | None = None

    def _note_loaded(self, event: Event) -> None:
        if isinstance(event, ModelLoaded):
            self._loaded.append(event)

    def open(self, stage: str, work: Work[Any, Any], replicas: int, gpus: list[str]) -> Opened:
        """Load what a stage's work needs, as one of `replicas` processes. Raises SteerError."""
        began = time.monotonic()
        context = WorkContext(
            stage=stage,
            load_model=self._models,
            checkpoint=lambda: None,
            emit=self._emit,
            keep=lambda kept: self._side_output.kept.append(kept),
            servers=self._servers,
            processes=replicas,
        )
        self._do = work.open(context)
        seconds = round(time.monotonic() - began, 3)
        models = list(self._loaded)
        return Opened(
            socket.gethostname(), os.getpid(), gpus, versions(), models, self._take_side_output(), seconds
        )

    def do(self, item: Any) -> Done:
        """Do one item."""
        assert self._do is not None, "open comes first"
        result = self._do(item)
        return Done(result, self._take_side_output())

    def _take_side_output(self) -> SideOutput:
        taken, self._side_output = self._side_output, SideOutput()
        return taken
