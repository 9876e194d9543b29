"""Replicas of a run: opens work on each, and replaces those that die."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any, Protocol

from engine.errors import ModelError, RunError
from engine.events import ClusterJoined, Event, ReplicaLost, ReplicaStarted
from engine.scale.replica import Opened
from engine.scale.work import Work, WorkContext
from engine.versions import versions

_FAILED_STARTS = 3
_DELIVERY = 5.0
"""Seconds in which a mailbox answers."""
_PATIENCE = 30.0
"""Seconds after which a warning says that replicas wait for room."""


@dataclass
class Member:
    """One replica. `life` counts its processes; `held`: the items it was given, by number, in the order of its work."""

    number: int
    process: ReplicaProcess
    life: int = 1
    life_reported: int = 0
    ready: bool = False
    held: dict[int, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class LostItem:
    """An item whose replica died; `started`: the replica was working on it."""

    index: int
    item: Any
    started: bool


@dataclass(frozen=True)
class Arrival:
    """What a replica's process sent: the outcome of item `index`, or of opening the work (None)."""

    member: Member
    life: int
    index: int | None
    error: BaseException | None
    value: Any


class ReplicaProcess(Protocol):
    """A replica's process; it does one thing after another."""

    def start(self, work: Any, folder: str) -> Future[Any]:
        """Open `work` (as `Backend.share` gave it) in `folder`; gives an `Opened`."""
        ...

    def do(self, item: Any) -> Future[Any]:
        """The result of one item."""
        ...


class Backend(Protocol):
    """What starts replicas and brings their reports: this machine, or a Ray cluster.

    `joined`: what the log says of it. `log`: where the last words of a replica that died are. `slow_start`: why one may
    not be ready for long.
    """

    joined: ClusterJoined
    log: str
    slow_start: str

    def new_process(self, number: int) -> ReplicaProcess:
        """A process for replica `number`."""
        ...

    def share(self, work: Work[Any, Any]) -> Any:
        """Bring `work` to where replicas can open it."""
        ...

    def events(self, patience: float) -> list[Event]:
        """What replicas have reported since the last call; of one replica in its order. `patience`: seconds to wait for
        what was reported before the results that have arrived."""
        ...

    def is_loss(self, error: BaseException) -> bool:
        """Whether the replica's process died, rather than the work failed."""
        ...

    def check(self) -> None:
        """Raises RunError where replicas cannot be reached any more."""
        ...

    def close(self, processes: Sequence[Any]) -> None:
        """End `processes`, and leave."""
        ...


class Replicas:
    """All replicas of a run. They and their models are kept from stage to stage."""

    def __init__(self, count: int, backend: Backend) -> None:
        self.backend = backend
        self.members = [Member(number, backend.new_process(number)) for number in range(count)]
        self._fingerprints: dict[str, str] = {}
        self._versions = versions()
        self._other_versions: set[str] = set()

    def check(self, opened: Opened, context: WorkContext) -> None:
        """Report the models that a replica loaded, each once. Raises ModelError where a replica's weights differ."""
        for model in opened.models:
            known = self._fingerprints.get(model.name)
            if known is None:
                self._fingerprints[model.name] = model.fingerprint
                context.emit(model)
            elif known != model.fingerprint:
                raise ModelError(
                    what=f"{model.name} has other weights on {opened.node} than elsewhere",
                    where="model.path",
                    hint="put the same files at this path on every machine",
                )
        other = [name for name, mine in self._versions.items() if opened.versions.get(name) != mine]
        if other and opened.node not in self._other_versions:
            self._other_versions.add(opened.node)
            text = f"{opened.node} has other versions of {', '.join(other)}: results may differ by machine"
            context.notice(text, level="warning")


class Team:
    """The replicas while they do one stage's work."""

    def __init__(self, replicas: Replicas, work: Work[Any, Any], context: WorkContext) -> None:
        """Begin to open `work` on all replicas."""
        self._replicas = replicas
        self.backend = replicas.backend
        self._work = self.backend.share(work)
        self._context = context
        self._arrivals: SimpleQueue[Arrival] = SimpleQueue()
        self._failed_starts = 0
        self._began = context.clock()
        self._waiting_reported = False
        for member in replicas.members:
            member.held = {}
            self._open(member)

    @property
    def members(self) -> list[Member]:
        """All replicas, ready or not."""
        return self._replicas.members

    def give(self, member: Member, index: int, item: Any) -> None:
        """Give a replica one more item."""
        member.held[index] = item
        self._expect(member, index, member.process.do(item))

    def arrivals(self, timeout: float) -> tuple[list[tuple[int, Any]], list[LostItem]]:
        """The items done since the last call, and those lost with their replica. Waits up to `timeout` seconds for
        the first. Raises what the work raised, and RunError where replicas cannot be kept alive."""
        done: list[tuple[int, Any]] = []
        lost: list[LostItem] = []
        self._log_events()
        arrived: list[Arrival] = []
        with suppress(Empty):
            arrived.append(self._arrivals.get(timeout=timeout))
            while True:
                arrived.append(self._arrivals.get_nowait())
        if arrived:
            self._log_events(_DELIVERY)
        for arrival in arrived:
            self._take(arrival, done, lost)
        self._report_waiting()
        return done, lost

    def _log_events(self, patience: float = 0.0) -> None:
        for event in self.backend.events(patience):
            self._context.emit(event)

    # ------------------------------------------------------------ one arrival

    def _take(self, arrival: Arrival, done: list[tuple[int, Any]], lost: list[LostItem]) -> None:
        member = arrival.member
        if arrival.life != member.life:
            return
        if arrival.error is not None:
            if not self.backend.is_loss(arrival.error):
                raise _cause(arrival.error)
            lost.extend(self._replace(member, arrival.error))
        elif arrival.index is None:
            self._started(member, arrival.value)
        else:
            del member.held[arrival.index]
            done.append((arrival.index, arrival.value))

    def _started(self, member: Member, opened: Opened) -> None:
        self._replicas.check(opened, self._context)
        member.ready, self._failed_starts = True, 0
        if member.life_reported == member.life:
            return
        member.life_reported = member.life
        self._context.emit(
            ReplicaStarted(
                replica=member.number,
                life=member.life,
                node=opened.node,
                pid=opened.pid,
                gpus=opened.gpus,
                seconds=opened.seconds,
            )
        )

    def _replace(self, member: Member, error: BaseException) -> list[LostItem]:
        """Start a new process for a replica that died; returns the items it had."""
        lost = [
            LostItem(index, item, position == 0) for position, (index, item) in enumerate(member.held.items())
        ]
        member.held = {}
        self._failed_starts += not member.ready
        reason = " ".join(str(error).split())[:500]
        self._context.emit(
            ReplicaLost(replica=member.number, life=member.life, redone=len(lost), reason=reason)
        )
        died = f"replica {member.number} died (items to do again: {len(lost)})"
        self._context.notice(f"{died}: {reason}", level="warning")
        if self._failed_starts >= _FAILED_STARTS:
            raise RunError(
                what=f"{self._failed_starts} replicas in a row died before they were ready: {reason}",
                where="scale",
                hint=f"see {self.backend.log}; every machine needs steer-tui and enough memory for the model",
            )
        member.life += 1
        member.process = self.backend.new_process(member.number)
        self._open(member)
        return lost

    def _open(self, member: Member) -> None:
        member.ready = False
        self._expect(member, None, member.process.start(self._work, os.getcwd()))

    def _expect(self, member: Member, index: int | None, outcome: Future[Any]) -> None:
        life, arrivals = member.life, self._arrivals

        def put(future: Future[Any]) -> None:
            error = future.exception()
            value = None if error is not None else future.result()
            arrivals.put(Arrival(member, life, index, error, value))

        outcome.add_done_callback(put)

    def _report_waiting(self) -> None:
        waiting = sum(not member.ready for member in self.members)
        if waiting and not self._waiting_reported and self._context.clock() - self._began > _PATIENCE:
            self._waiting_reported = True
            text = f"{waiting} of {len(self.members)} replicas are not ready: {self.backend.slow_start}"
            self._context.notice(text, level="warning")


def _cause(error: BaseException) -> BaseException:
    """The error that the work raised, without Ray's wrapper."""
    cause = getattr(error, "cause", None)
    if not isinstance(cause, BaseException):
        return error
    cause.__cause__ = error
    return cause
