"""Replicas over a Ray cluster: work made ready on each, replaced where one dies, its figures told."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any

from engine.config.scale import ScaleSection
from engine.errors import ModelError, RunError
from engine.events import ReplicaLost, ReplicaProgress, ReplicaStarted
from engine.scale.replica import Done, Opened, Replica
from engine.scale.work import Place, Work
from engine.versions import versions

_FAILED_STARTS = 3
_TELL_EVERY = 1.0
_PATIENCE = 30.0
"""Seconds after which it is told that replicas wait for room."""


@dataclass
class Member:
    """One replica. `life` counts its processes; `held` are the items it has, by number, as it does them."""

    number: int
    actor: Any
    life: int = 1
    life_told: int = 0
    ready: bool = False
    held: dict[int, Any] = field(default_factory=dict)
    done: int = 0
    busy: float = 0.0
    told: float = 0.0
    told_done: int = 0


@dataclass(frozen=True)
class Lost:
    """An item whose replica died; `begun`: while it was at work on it."""

    index: int
    item: Any
    begun: bool


@dataclass(frozen=True)
class Arrived:
    """What came from a replica's process: of the item `index`, or of opening (None)."""

    member: Member
    life: int
    index: int | None
    error: BaseException | None
    value: Any


class Replicas:
    """All replicas of a run. They stay, with their models, from stage to stage."""

    def __init__(self, section: ScaleSection) -> None:
        self.section = section
        self.members = [Member(number, self.hire(number)) for number in range(section.replicas)]
        self._fingerprints: dict[str, str] = {}
        self._versions = versions()
        self._other_versions: set[str] = set()

    def hire(self, number: int) -> Any:
        """A new process for replica `number`."""
        import ray

        options = {"num_cpus": 1, "num_gpus": self.section.gpus_per_replica, "max_restarts": 0}
        return ray.remote(**options)(_Process).remote()

    def dismiss(self) -> None:
        """End them all."""
        import ray

        for member in self.members:
            ray.kill(member.actor)

    def team(self, work: Work[Any, Any], here: Place) -> Team:
        """Begin to make `work` ready on all of them."""
        return Team(self, work, here)

    def check(self, opened: Opened, here: Place) -> None:
        """Tell of what a replica loaded, once for all. Raises ModelError where one has another model than the rest."""
        for event in opened.told.events:
            here.emit(event)
        for model in opened.models:
            known = self._fingerprints.get(model.name)
            if known is None:
                self._fingerprints[model.name] = model.fingerprint
                here.emit(model)
            elif known != model.fingerprint:
                raise ModelError(
                    what=f"{model.name} has other weights on {opened.node} than elsewhere",
                    where="model.path",
                    mend="put the same files at this path on every machine",
                )
        other = [name for name, mine in self._versions.items() if opened.versions.get(name) != mine]
        if other and opened.node not in self._other_versions:
            self._other_versions.add(opened.node)
            text = f"{opened.node} has other versions of {', '.join(other)}: results may differ by machine"
            here.notice(text, level="warning")


class _Process(Replica):
    """What runs in an actor: knows the devices that it was given."""

    def __init__(self) -> None:
        import ray

        super().__init__()
        if not ray.get_gpu_ids():  # Ray itself hides no GPU from who was given none
            os.environ["CUDA_VISIBLE_DEVICES"] = ""

    def start(self, stage: str, work: Work[Any, Any], replicas: int, folder: str) -> Opened:
        """As `open`. `folder`: from where the configuration's paths are meant, if this machine has it."""
        import ray

        with suppress(OSError):
            os.chdir(folder)
        return self.open(stage, work, replicas, [str(gpu) for gpu in ray.get_gpu_ids()])


class Team:
    """The replicas at one stage's work."""

    def __init__(self, replicas: Replicas, work: Work[Any, Any], here: Place) -> None:
        import ray

        self._replicas = replicas
        self._work = ray.put(work)
        self._size = work.size
        self._here = here
        self._arrivals: SimpleQueue[Arrived] = SimpleQueue()
        self._failed_starts = 0
        self._began = here.clock()
        self._ready = 0.0
        self._waiting_told = False
        for member in replicas.members:
            member.held, member.done, member.busy, member.told_done = {}, 0, 0.0, 0
            self._open(member)

    @property
    def members(self) -> list[Member]:
        """All of them, ready or not."""
        return self._replicas.members

    def give(self, member: Member, index: int, item: Any) -> None:
        """One more item."""
        member.held[index] = item
        self._expect(member, index, member.actor.do.remote(item))

    def arrived(self, timeout: float) -> tuple[list[tuple[int, Done]], list[Lost]]:
        """What is done by now, and the items that were lost with their replica. Waits up to `timeout` seconds for the
        first. Raises what the work raised, and RunError where replicas cannot be kept alive."""
        done: list[tuple[int, Done]] = []
        lost: list[Lost] = []
        try:
            one = self._arrivals.get(timeout=timeout)
            while True:
                self._take(one, done, lost)
                one = self._arrivals.get_nowait()
        except Empty:
            self._tell_waiting()
            return done, lost

    def tell(self, last: bool = False) -> None:
        """The figures of replicas that did something, each once a second; `last`: what was not told yet."""
        now = self._here.clock()
        for member in self.members:
            if member.done != member.told_done and (last or now - member.told >= _TELL_EVERY):
                member.told, member.told_done = now, member.done
                busy = round(member.busy, 3)
                elapsed = round(now - self._ready, 3)
                self._here.emit(
                    ReplicaProgress(replica=member.number, done=member.done, busy=busy, elapsed=elapsed)
                )

    # ------------------------------------------------------------ one arrival

    def _take(self, one: Arrived, done: list[tuple[int, Done]], lost: list[Lost]) -> None:
        member = one.member
        if one.life != member.life:
            return
        if one.error is not None:
            if not _is_loss(one.error):
                raise _cause(one.error)
            lost.extend(self._replace(member, one.error))
        elif one.index is None:
            self._started(member, one.value)
        else:
            item = member.held.pop(one.index)
            member.done += self._size(item)
            member.busy += one.value.seconds
            done.append((one.index, one.value))

    def _started(self, member: Member, opened: Opened) -> None:
        self._replicas.check(opened, self._here)
        member.ready, self._failed_starts = True, 0
        self._ready = self._ready or self._here.clock()
        if member.life_told == member.life:
            return
        member.life_told = member.life
        self._here.emit(
            ReplicaStarted(
                replica=member.number,
                life=member.life,
                node=opened.node,
                pid=opened.pid,
                gpus=opened.gpus,
                seconds=opened.seconds,
            )
        )

    def _replace(self, member: Member, error: BaseException) -> list[Lost]:
        """A new process for a replica that died; the items it had."""
        lost = [Lost(index, item, place == 0) for place, (index, item) in enumerate(member.held.items())]
        member.held = {}
        self._failed_starts += not member.ready
        reason = " ".join(str(error).split())[:500]
        self._here.emit(ReplicaLost(replica=member.number, life=member.life, redone=len(lost), reason=reason))
        if self._failed_starts >= _FAILED_STARTS:
            raise RunError(
                what=f"{self._failed_starts} replicas in a row died before they were ready: {reason}",
                where="scale",
                mend="see scale/ray.log, or the logs of the cluster that was joined; steer-tui must be installed on "
                "every machine, and a model must fit into it",
            )
        member.life += 1
        member.actor = self._replicas.hire(member.number)
        self._open(member)
        return lost

    def _open(self, member: Member) -> None:
        member.ready = False
        replicas, folder = len(self.members), os.getcwd()
        self._expect(member, None, member.actor.start.remote(self._here.stage, self._work, replicas, folder))

    def _expect(self, member: Member, index: int | None, reference: Any) -> None:
        life, arrivals = member.life, self._arrivals

        def tell(future: Any) -> None:
            error = future.exception()
            value = None if error is not None else future.result()
            arrivals.put(Arrived(member, life, index, error, value))

        reference.future().add_done_callback(tell)

    def _tell_waiting(self) -> None:
        waiting = sum(not member.ready for member in self.members)
        if waiting and not self._waiting_told and self._here.clock() - self._began > _PATIENCE:
            self._waiting_told = True
            gpus = self._replicas.section.gpus_per_replica
            text = f"{waiting} of {len(self.members)} replicas are not ready: the cluster has no room (each needs a CPU"
            self._here.notice(f"{text} and {gpus:g} GPUs) or they still load their models", level="warning")


def _is_loss(error: BaseException) -> bool:
    """Whether the process is gone, and not the work that failed."""
    from ray import exceptions

    return isinstance(
        error,
        (exceptions.RayActorError, exceptions.WorkerCrashedError, exceptions.NodeDiedError,
         exceptions.ObjectLostError, exceptions.OutOfMemoryError),
    )  # fmt: skip


def _cause(error: BaseException) -> BaseException:
    """What the work raised, as it raised it."""
    cause = getattr(error, "cause", None)
    if not isinstance(cause, BaseException):
        return error
    cause.__cause__ = error
    return cause
