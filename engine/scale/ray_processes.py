"""Replicas as actors of a Ray cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from engine.config.scale import ScaleSection
from engine.events import ClusterJoined, Event
from engine.scale.cluster import Cluster
from engine.scale.replica import Opened, Replica
from engine.scale.work import Work


class RayBackend:
    """A Ray cluster, joined; and a mailbox on it, from which the worker takes what replicas report."""

    log = "the logs of the cluster"

    def __init__(self, section: ScaleSection, address: str, checkpoint: Callable[[], None]) -> None:
        """Join the cluster at `address`. `checkpoint` may block or raise meanwhile. Raises RunError."""
        self._gpus = section.gpus_per_replica
        needs = f"each needs a CPU and {self._gpus:g} GPUs"
        self.slow_start = f"the cluster has no room ({needs}) or they still load their models"
        self.cluster = Cluster.join(address, checkpoint)
        self.joined = ClusterJoined(
            engine="ray", address=address, replicas=section.replicas, gpus_per_replica=self._gpus
        )
        self._mailbox: Any = None
        self._collecting: Any = None

    def new_process(self, number: int) -> RayProcess:
        """A process for replica `number`, with its share of GPUs."""
        if self._mailbox is None:
            self._mailbox = _new_mailbox()
        return RayProcess(self._mailbox, self._gpus)

    def share(self, work: Work[Any, Any]) -> Any:
        """The work, once for all replicas."""
        import ray

        return ray.put(work)

    def events(self, patience: float) -> list[Event]:
        """What the mailbox holds. With patience it is asked twice: the question under way may be older."""
        return [*self._collect(patience), *(self._collect(patience) if patience else ())]

    def is_loss(self, error: BaseException) -> bool:
        """Whether the replica's process died, rather than the work failed."""
        from ray import exceptions

        return isinstance(
            error,
            (exceptions.RayActorError, exceptions.WorkerCrashedError, exceptions.NodeDiedError,
             exceptions.ObjectLostError, exceptions.OutOfMemoryError),
        )  # fmt: skip

    def check(self) -> None:
        """Raises RunError where the cluster is lost."""
        self.cluster.check()

    def close(self, processes: Sequence[RayProcess]) -> None:
        """End mailbox and processes, leave the cluster."""
        import ray

        if self.cluster.answers:
            for actor in (self._mailbox, *(process.actor for process in processes)):
                if actor is not None:
                    ray.kill(actor)
        self.cluster.leave()

    def _collect(self, patience: float) -> list[Event]:
        import ray

        if self._collecting is None:
            self._collecting = self._mailbox.take.remote()
        if not ray.wait([self._collecting], timeout=patience)[0]:
            return []
        events, self._collecting = ray.get(self._collecting), None
        return events


class RayProcess:
    """A replica's actor."""

    def __init__(self, mailbox: Any, gpus: float) -> None:
        import ray

        options = {"num_cpus": 1, "num_gpus": gpus, "max_restarts": 0}
        self.actor: Any = ray.remote(**options)(_Actor).remote(mailbox)

    def start(self, work: Any, folder: str) -> Future[Opened]:
        """Open `work` in `folder`."""
        return self.actor.start.remote(work, folder).future()

    def do(self, item: Any) -> Future[Any]:
        """The result of one item."""
        return self.actor.do.remote(item).future()


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


class _Actor(Replica):
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
