"""Events of replicas: which process does a stage's work. Results are in the stage's own events."""

from __future__ import annotations

from engine.events.base import Event


class ClusterJoined(Event, tag=True, kw_only=True, frozen=True):
    """Replicas do the work from here on: on this machine (`engine` is local), or on a Ray cluster that was joined."""

    engine: str
    address: str = ""
    replicas: int
    gpus_per_replica: float = 0.0


class ReplicaStarted(Event, tag=True, kw_only=True, frozen=True):
    """Replica `replica` (from 0) is ready, in its `life`-th process (from 1), after `seconds`."""

    replica: int
    life: int
    node: str
    pid: int
    gpus: list[str] = []
    seconds: float = 0.0


class ReplicaLost(Event, tag=True, kw_only=True, frozen=True):
    """A replica's process ended; `redone` items are given to others, and a new process takes its place."""

    replica: int
    life: int
    redone: int
    reason: str = ""
