"""Replicas, folded from the run's events: where each runs, and what it did for the current stage."""

from __future__ import annotations

from dataclasses import dataclass, replace

from app.state.method import MethodState, Place
from engine import events as ev

STARTING, READY, LOST = "starting", "ready", "lost"


@dataclass(frozen=True, slots=True)
class ReplicaRow:
    """`done` items of the stage, in `busy` seconds of work. `deaths`: processes it lost; `redone`: what was under way
    in them, and was done again."""

    number: int
    status: str = STARTING
    node: str = ""
    pid: int = 0
    gpus: tuple[str, ...] = ()
    done: int = 0
    busy: float = 0.0
    deaths: int = 0
    redone: int = 0

    @property
    def pace(self) -> float | None:
        """Items a second while it works."""
        return self.done / self.busy if self.done and self.busy > 0 else None


class ScaleState(MethodState):
    """`joined`: the cluster; None for a run in one process. `stage`: whose work the figures are about; `seconds`: since
    it began."""

    def __init__(self) -> None:
        self.joined: ev.ClusterJoined | None = None
        self.rows: dict[int, ReplicaRow] = {}
        self.stage = ""
        self.seconds = 0.0

    @property
    def pace(self) -> float | None:
        """Items a second of all replicas together, waiting included."""
        done = sum(row.done for row in self.rows.values())
        return done / self.seconds if done and self.seconds > 0 else None

    def share_busy(self, row: ReplicaRow) -> float | None:
        """Share of the time that a replica worked; None while it did nothing."""
        return min(1.0, row.busy / self.seconds) if row.busy and self.seconds > 0 else None


@ScaleState.on(ev.ClusterJoined)
def _joined(state: ScaleState, event: ev.ClusterJoined, place: Place) -> None:
    state.joined, state.stage = event, ""
    state.rows = {number: ReplicaRow(number) for number in range(event.replicas)}


def _row(state: ScaleState, number: int) -> ReplicaRow:
    return state.rows.get(number) or ReplicaRow(number)


@ScaleState.on(ev.ReplicaStarted)
def _started(state: ScaleState, event: ev.ReplicaStarted, place: Place) -> None:
    state.rows[event.replica] = replace(
        _row(state, event.replica),
        status=READY,
        node=event.node,
        pid=event.pid,
        gpus=tuple(event.gpus),
    )


@ScaleState.on(ev.ReplicaLost)
def _lost(state: ScaleState, event: ev.ReplicaLost, place: Place) -> None:
    row = _row(state, event.replica)
    state.rows[event.replica] = replace(
        row, status=LOST, deaths=row.deaths + 1, redone=row.redone + event.redone
    )


@ScaleState.on(ev.ReplicaProgress)
def _progress(state: ScaleState, event: ev.ReplicaProgress, place: Place) -> None:
    if event.stage != state.stage:  # figures count anew for another stage
        state.stage, state.seconds = event.stage, 0.0
        state.rows = {number: replace(row, done=0, busy=0.0) for number, row in state.rows.items()}
    state.seconds = max(state.seconds, event.elapsed)
    state.rows[event.replica] = replace(_row(state, event.replica), done=event.done, busy=event.busy)
