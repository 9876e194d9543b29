"""The state of a run, folded from its events: what every screen draws, so that no two screens disagree.

`RunState().apply(event, offset, length)` for each event of a log gives the state at its end, whether the log
grows at this moment or ended last year. `share()` is cheap (lists are shared by length), so a session can keep
a copy every few thousand events and fold on from the nearest one when the user scrubs back.

What a list shows is kept in columns or tuples; what only a row's detail shows (candidates, texts) stays in
the log, to be read again from the place that each row remembers.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from typing import Any

from app.state.columns import AppendOnlyList
from app.state.esm import ESMState
from app.state.evolution import EvolutionState
from app.state.gflownet import GFlowNetState
from app.state.method import Fold, MethodState
from app.state.pool import PoolState
from app.state.serve import ServeState
from app.state.slsm import SLSMState
from engine import events as ev
from engine.plugins import plugins
from engine.run.directory import RunRecord
from engine.run.event_log import LogPlace
from engine.run.stage_state import FINISHED, SKIPPED, StageState, fold_stages

LOG_IS_CUT = "The log ends before the run did: figures and rows may be missing."


class RunState(MethodState):
    """Everything the screens know about a run. Read it; only `apply` changes it.

    `status`: new, running, paused, finished, stopped, failed (that a worker vanished is not in the log: its
    lock shows). `models`: the last that each stage loaded. `usage`: of servers, by stage and role. Each method has
    a state of its own among the fields; those of other packages are in `others`, by name.
    """

    def __init__(self) -> None:
        self.header: ev.Header | None = None
        self.status = "new"
        self.stages: dict[str, StageState] = {}
        self.notices: AppendOnlyList[ev.Notice] = AppendOnlyList()
        self.models: dict[str, ev.ModelLoaded] = {}
        self.loading: ev.ModelLoading | None = None
        self.preparing = ""
        self.cluster: ev.ClusterJoined | None = None
        self.usage: dict[tuple[str, str], ev.ServerUsage] = {}
        self.esm = ESMState()
        self.evolution = EvolutionState()
        self.gflownet = GFlowNetState()
        self.slsm = SLSMState()
        self.pool = PoolState()
        self.serve = ServeState()
        self.others = {name: kind() for name, kind in plugins("states").items()}
        self.seq = -1
        self.time = 0.0
        self.worked = 0.0
        """Seconds in which a worker was at it."""
        self.unknown = 0

    def apply(self, event: ev.Event | ev.Unknown, offset: int = 0, length: int = 0) -> None:
        """Take in the next event of the log, which stands at `offset` and is `length` bytes long."""
        if isinstance(event, ev.Unknown):
            self.unknown += 1
            return
        if self.seq >= 0 and self.status in ("new", "running") and not isinstance(event, ev.WorkerStarted):
            self.worked += event.time - self.time
        self.seq = event.seq
        self.time = event.time
        fold_stages(self.stages, event)
        if (owner_and_fold := _folds().get(type(event))) is not None:
            owner, fold = owner_and_fold
            fold(self._state(owner), event, LogPlace(offset, length))

    def _state(self, name: str) -> MethodState:
        if not name:
            return self
        return self.others[name] if name in self.others else getattr(self, name)

    def is_cut(self, record: RunRecord) -> bool:
        """Whether the log ends before the run did: the record of a run on which nothing works knows more."""
        done = {name for name, stage in self.stages.items() if stage.status in (FINISHED, SKIPPED)}
        finished = {name for name, stage in record.stages.items() if stage.status == "finished"}
        ended = record.status not in ("prepared", "running", "paused")
        return ended and (self.status in ("running", "paused") or bool(finished - done))

    @property
    def active_stage(self) -> StageState | None:
        """The stage that is running or paused."""
        return next((stage for stage in self.stages.values() if stage.active), None)

    def model_of(self, stages: Collection[str]) -> ev.ModelLoaded | None:
        """The model that the last of these stages to load one loaded."""
        return next((self.models[stage] for stage in reversed(self.models) if stage in stages), None)

    @property
    def failure(self) -> ev.StageFailed | None:
        """The failure that the run ended with, if it did."""
        return next((s.error for s in reversed(self.stages.values()) if s.error is not None), None)


@cache
def method_states() -> dict[str, type[MethodState]]:
    """The states of all methods, by name: the fields of `RunState`, then those of other packages."""
    state = RunState()
    fields: dict[str, Any] = vars(state) | state.others
    return {name: type(value) for name, value in fields.items() if isinstance(value, MethodState)}


@cache
def _folds() -> dict[type, tuple[str, Fold]]:
    """By type of event: the name of the state it changes ("": the run's own), and how."""
    states = {"": RunState} | method_states()
    return {event: (name, fold) for name, kind in states.items() for event, fold in kind.folds.items()}


RunState.keeps(ev.Header, "header")
RunState.keeps(ev.ModelLoading, "loading")
RunState.keeps(ev.ClusterJoined, "cluster")
RunState.keeps(ev.ServerUsage, "usage", "stage", "role")


@RunState.on(ev.WorkerStarted)
def _worker_started(state: RunState, event: ev.WorkerStarted, place: LogPlace) -> None:
    state.status = "running"
    state.loading, state.preparing = None, ""


@RunState.on(ev.WorkerStopped)
def _worker_stopped(state: RunState, event: ev.WorkerStopped, place: LogPlace) -> None:
    state.status = event.status
    state.loading, state.preparing = None, ""


@RunState.on(ev.StagesChosen)
def _chosen(state: RunState, event: ev.StagesChosen, place: LogPlace) -> None:
    left = any(stage.status not in (FINISHED, SKIPPED) for stage in state.stages.values())
    if state.status == "failed" or (state.status == "finished" and left):
        state.status = "stopped"


@RunState.on(ev.StageBegunAgain)
def _begun_again(state: RunState, event: ev.StageBegunAgain, place: LogPlace) -> None:
    for name in method_states():
        state._state(name).forget(event.stage)


@RunState.on(ev.StagePaused)
def _paused(state: RunState, event: ev.StagePaused, place: LogPlace) -> None:
    state.status = "paused"


@RunState.on(ev.StageResumed)
def _continued(state: RunState, event: ev.StageResumed, place: LogPlace) -> None:
    state.status = "running"


@RunState.on(ev.Notice)
def _notice(state: RunState, event: ev.Notice, place: LogPlace) -> None:
    state.notices.append(event)


@RunState.on(ev.ModelLoaded)
def _model(state: RunState, event: ev.ModelLoaded, place: LogPlace) -> None:
    state.models[event.stage], state.loading = event, None


@RunState.on(ev.Preparing)
@RunState.on(ev.StageFinished)
def _preparing(state: RunState, event: ev.Preparing | ev.StageFinished, place: LogPlace) -> None:
    state.preparing = event.doing if isinstance(event, ev.Preparing) else ""
