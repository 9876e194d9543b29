"""Replicas on a Ray cluster: opens work on each, and replaces those that die."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any

from engine.config.scale import ScaleSection
from engine.errors import ModelError, RunError
from engine.events import Event, ReplicaLost, ReplicaStarted
from engine.scale.replica import Opened, Replica
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
    actor: Any
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


class Replicas:
    """All replicas of a run. They and their models are kept from stage to stage."""

    def __init__(self, section: ScaleSection) -> None:
        self.section = section
        self.mailbox = _new_mailbox()
        self.members = [Member(number, self.new_process(number)) for number in range(section.replicas)]
        self._fingerprints: dict[str, str] = {}
        self._versions = versions()
        self._other_versions: set[str] = set()

    def new_process(self, number: int) -> Any:
        """A new process for replica `number`."""
        import ray

        options = {"num_cpus": 1, "num_gpus": self.section.gpus_per_replica, "max_restarts": 0}
        return ray.remote(**options)(_Process).remote(self.mailbox)

    def end(self) -> None:
        """End all replicas."""
        import ray

        for actor in (self.mailbox, *(member.actor for member in self.members)):
            ray.kill(actor)

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


class _Mailbox:
    """Events on their way from the replicas to the worker: a replica at work answers no call."""

    def __init__(self) -> None:
        self._events: list[Event] = []

    def put(self, event: Event) -> None:
        self._events.append(event)

    def take(self) -> list[Event]:
        """Those since the last call; of one replica in the order in which it reported them."""
        taken, self._events = self._events, []
        return taken


def _new_mailbox() -> Any:
    """A mailbox on the worker's own node, if there is room."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here: Any = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=True)
    return ray.remote(num_cpus=0, scheduling_strategy=here)(_Mailbox).remote()


class _Process(Replica):
    """The replica in a Ray actor: it knows which GPUs it was given."""

    def __init__(self, mailbox: Any) -> None:
        import ray

        self._mailbox, self._sent = mailbox, None
        super().__init__(self._send)
        if not ray.get_gpu_ids():  # Ray itself hides no GPU from an actor that was given none
            os.environ["CUDA_VISIBLE_DEVICES"] = ""

    def start(self, work: Work[Any, Any], folder: str) -> Opened:
        """`open` in `folder`, from which the configuration's relative paths count, if this machine has it."""
        import ray

        with suppress(OSError):
            os.chdir(folder)
        opened = self.open(work, [str(gpu) for gpu in ray.get_gpu_ids()])
        self._await_delivery()
        return opened

    def do(self, item: Any) -> Any:
        done = super().do(item)
        self._await_delivery()
        return done

    def _send(self, event: Event) -> None:
        self._sent = self._mailbox.put.remote(event)

    def _await_delivery(self) -> None:
        """A result leaves after all that was reported before it."""
        import ray

        if self._sent is not None:
            ray.get(self._sent)
            self._sent = None


class Team:
    """The replicas while they do one stage's work."""

    def __init__(self, replicas: Replicas, work: Work[Any, Any], context: WorkContext) -> None:
        """Begin to open `work` on all replicas."""
        import ray

        self._replicas = replicas
        self._work = ray.put(work)
        self._context = context
        self._arrivals: SimpleQueue[Arrival] = SimpleQueue()
        self._collecting: Any = None
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
        self._expect(member, index, member.actor.do.remote(item))

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
            self._log_all_events()
        for arrival in arrived:
            self._take(arrival, done, lost)
        self._report_waiting()
        return done, lost

    def _log_events(self, patience: float = 0.0) -> None:
        """Log what replicas have reported, and ask for more. `patience`: seconds to wait for the answer."""
        import ray

        if self._collecting is None:
            self._collecting = self._replicas.mailbox.take.remote()
        if ray.wait([self._collecting], timeout=patience)[0]:
            events, self._collecting = ray.get(self._collecting), None
            for event in events:
                self._context.emit(event)

    def _log_all_events(self) -> None:
        """Log what was reported before a result came: the question under way may be older."""
        self._log_events(_DELIVERY)
        self._log_events(_DELIVERY)

    # ------------------------------------------------------------ one arrival

    def _take(self, arrival: Arrival, done: list[tuple[int, Any]], lost: list[LostItem]) -> None:
        member = arrival.member
        if arrival.life != member.life:
            return
        if arrival.error is not None:
            if not _is_loss(arrival.error):
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
                hint="see scale/ray.log, or the logs of the cluster that was joined; every machine needs steer-tui and "
                "enough memory for the model",
            )
        member.life += 1
        member.actor = self._replicas.new_process(member.number)
        self._open(member)
        return lost

    def _open(self, member: Member) -> None:
        member.ready = False
        self._expect(member, None, member.actor.start.remote(self._work, os.getcwd()))

    def _expect(self, member: Member, index: int | None, reference: Any) -> None:
        life, arrivals = member.life, self._arrivals

        def put(future: Any) -> None:
            error = future.exception()
            value = None if error is not None else future.result()
            arrivals.put(Arrival(member, life, index, error, value))

        reference.future().add_done_callback(put)

    def _report_waiting(self) -> None:
        waiting = sum(not member.ready for member in self.members)
        if waiting and not self._waiting_reported and self._context.clock() - self._began > _PATIENCE:
            self._waiting_reported = True
            gpus = self._replicas.section.gpus_per_replica
            text = f"{waiting} of {len(self.members)} replicas are not ready: the cluster has no room (each needs a CPU"
            self._context.notice(
                f"{text} and {gpus:g} GPUs) or they still load their models", level="warning"
            )


def _is_loss(error: BaseException) -> bool:
    """Whether the replica's process died, rather than the work failed."""
    from ray import exceptions

    return isinstance(
        error,
        (exceptions.RayActorError, exceptions.WorkerCrashedError, exceptions.NodeDiedError,
         exceptions.ObjectLostError, exceptions.OutOfMemoryError),
    )  # fmt: skip


def _cause(error: BaseException) -> BaseException:
    """The error that the work raised, without Ray's wrapper."""
    cause = getattr(error, "cause", None)
    if not isinstance(cause, BaseException):
        return error
    cause.__cause__ = error
    return cause
