"""A replica: a process that does a stage's work on the items it is given, and reports events while it works."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import RLock
from typing import Any

from tqdm import tqdm

from engine.events import Event, ModelLoaded
from engine.lm.shared_models import SharedModels
from engine.scale.work import Work, WorkContext
from engine.versions import versions


@dataclass(frozen=True)
class Opened:
    """Where a replica that is ready runs, and with which versions and models. `models`: all that it has loaded so far,
    also for earlier stages; `seconds`: how long opening took."""

    node: str
    pid: int
    gpus: list[str]
    versions: dict[str, str]
    models: list[ModelLoaded]
    seconds: float


class Replica:
    """Does work item by item. Models stay loaded from stage to stage; the worker receives what is raised, unchanged."""

    def __init__(self, emit: Callable[[Event], None]) -> None:
        """`emit` takes an event to the worker at once; any thread may call it."""
        os.environ["TOKENIZERS_PARALLELISM"] = "false"
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
        # tqdm's own holds a semaphore of the system, which a killed process leaves behind.
        tqdm.set_lock(RLock())
        self._emit = emit
        self._loaded: list[ModelLoaded] = []
        self._models = SharedModels(self._note_loaded)
        self._do: Callable[[Any], Any] | None = None

    def _note_loaded(self, event: Event) -> None:
        if isinstance(event, ModelLoaded):
            self._loaded.append(event)

    def open(self, work: Work[Any, Any], gpus: list[str]) -> Opened:
        """Load what a stage's work needs. Raises SteerError."""
        began = time.monotonic()
        self._do = work.open(WorkContext(self._models, checkpoint=lambda: None, emit=self._emit))
        seconds = round(time.monotonic() - began, 3)
        return Opened(socket.gethostname(), os.getpid(), gpus, versions(), list(self._loaded), seconds)

    def do(self, item: Any) -> Any:
        """The result of one item."""
        assert self._do is not None, "open comes first"
        return self._do(item)
