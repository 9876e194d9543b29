"""A team of replicas with stand-ins for its processes: they are asked, and the test answers."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest

from engine import events as ev
from engine.scale.replicas import Replicas, Team
from engine.scale.spread import _Spreading
from engine.scale.work import WorkContext
from engine.versions import versions
from tests.engine.scale.works import Squares


class Process:
    """Stands in for the process of a replica: it is asked for something, and the test answers."""

    def __init__(self) -> None:
        self.opening: Future[Any] = Future()
        self.asked: dict[Any, Future[Any]] = {}

    def start(self, work: Any, folder: str) -> Future[Any]:
        self.work, self.folder = work, folder
        self.opening = Future()
        return self.opening

    def do(self, item: Any) -> Future[Any]:
        self.asked[item] = Future()
        return self.asked[item]

    def opens(self) -> None:
        opened = SimpleNamespace(
            models=[], versions=versions(), node="here", pid=7, gpus=["1"], seconds=0.5
        )  # as an `Opened`
        self.opening.set_result(opened)


class Backend:
    """Starts stand-ins for processes."""

    joined = ev.ClusterJoined(engine="local", replicas=2)
    log, slow_start = "w.log", "they still load"

    def __init__(self, *given: object) -> None:
        self.given = given
        self.processes: list[Process] = []
        self.reported: list[ev.Event] = []
        self.patience: list[float] = []
        self.closed: list[Any] = []
        self.checks = 0

    def new_process(self, number: int) -> Process:
        self.processes.append(Process())
        return self.processes[-1]

    def share(self, work: Any) -> Any:
        return ("shared", work)

    def events(self, patience: float) -> list[ev.Event]:
        self.patience.append(patience)
        reported, self.reported = self.reported, []
        return reported

    def is_loss(self, error: BaseException) -> bool:
        return isinstance(error, OSError)

    def check(self) -> None:
        self.checks += 1

    def close(self, processes: Any) -> None:
        self.closed.append(processes)


class Place:
    """A team of two such replicas, the events it logs, and its clock."""

    def __init__(self) -> None:
        self.backend = Backend()
        self.events: list[ev.Event] = []
        self.now = 100.0
        self.context = WorkContext(
            lambda section: pytest.fail("loads a model"), lambda: None, self.events.append, lambda: self.now
        )
        backend: Any = self.backend
        self.team = Team(Replicas(2, backend), Squares(), self.context)

    def ready(self) -> Place:
        for process in self.backend.processes:
            process.opens()
        assert self.team.arrivals(0.0) == ([], [])
        return self

    def spreading(self, items: Any) -> _Spreading:
        return _Spreading(self.team, items, self.context)

    def held(self) -> list[list[int]]:
        return [list(member.held) for member in self.team.members]
