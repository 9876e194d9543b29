"""A run as its events tell it: the fold that every screen draws, and nothing a screen could disagree with.

`RunState().apply(event, offset, length)` for each event of a log gives the state at its end, whether the log
grows at this moment or ended last year. `copy()` is cheap (lists are shared by length), so a session can keep
a copy every few thousand events and fold on from the nearest one when somebody scrubs back.

What a list shows is kept in columns or tuples; what only one row's detail shows (candidates, texts) stays in
the log, to be read again from the place that each row remembers.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from app import stages
from app.columns import Grow, Names
from app.decisions import Decisions, Outcomes, Place
from app.evolution import EVOLUTION_FOLDS, EvolutionState
from app.gflownet import GFLOWNET_FOLDS, GFlowNetState
from app.pool import POOL_FOLDS, PoolState
from app.scale import SCALE_FOLDS, ScaleState
from app.slsm import SLSM_FOLDS, SLSMState
from app.stages import StageState
from engine import events as ev


class Rollouts(NamedTuple):
    """A mined training example."""

    example: str
    n: int
    correct: int
    mean_tokens: float
    mean_reward: float
    pairs: int
    place: Place


class Pair(NamedTuple):
    """A contrastive pair; its texts stand in the log."""

    pair: str
    example: str
    m: int
    layer: int
    quality: float
    positives: int
    negatives: int
    delta_norm: float
    source: str
    place: Place


class Pick(NamedTuple):
    """A library entry in the order in which it was taken."""

    order: int
    entry: str
    kind: str
    example: str
    m: int
    layer: int
    quality: float
    gain: float
    objective: float
    max_similarity: float
    reason: str
    place: Place


class CurvePoint(NamedTuple):
    """A running figure of a method."""

    n: int
    accuracy: float


class RunState:
    """Everything the screens know about a run. Read it; only `apply` changes it.

    `status`: new, running, paused, finished, stopped, failed (that a worker vanished is not in the log: its
    lock tells). `usage`: of servers, by stage and role. `running` and `final` hold each method's last row; `curves`
    the running rows one by one. `revision` counts applied events.
    """

    def __init__(self) -> None:
        self.names = Names()
        self.header: ev.Header | None = None
        self.status = "new"
        self.kept = ""
        self.worker: ev.WorkerStarted | None = None
        self.stages: dict[str, StageState] = {}
        self.notices: Grow[ev.Notice] = Grow()
        self.model: ev.ModelLoaded | None = None
        self.usage: dict[tuple[str, str], ev.ServerUsage] = {}
        self.rollouts: Grow[Rollouts] = Grow()
        self.pairs: Grow[Pair] = Grow()
        self.picks: Grow[Pick] = Grow()
        self.memory: ev.MemoryBuilt | None = None
        self.questions: dict[str, str] = {}
        self.decisions = Decisions(self.names)
        self.outcomes = Outcomes(self.names)
        self.running: dict[str, ev.MethodEvaluated] = {}
        self.final: dict[str, ev.MethodEvaluated] = {}
        self.curves: dict[str, Grow[CurvePoint]] = {}
        self.training: Grow[ev.TrainingStep] = Grow()
        self.evolution = EvolutionState()
        self.gflownet = GFlowNetState()
        self.slsm = SLSMState()
        self.pool = PoolState()
        self.scale = ScaleState()
        self.seq = -1
        self.time = 0.0
        self.began = 0.0
        self.revision = 0
        self.unknown = 0

    def apply(self, event: ev.Event | ev.Unknown, offset: int = 0, length: int = 0) -> None:
        """Take in the next event of the log, which stands at `offset` and is `length` bytes long."""
        self.revision += 1
        if isinstance(event, ev.Unknown):
            self.unknown += 1
            return
        self.seq = event.seq
        self.time = event.time
        if not self.began:
            self.began = event.time
        place = Place(offset, length)
        if (fold := _FOLDS.get(type(event))) is not None:
            fold(self, event, place)
        elif (fold := EVOLUTION_FOLDS.get(type(event))) is not None:
            fold(self.evolution, event, place)
        elif (fold := GFLOWNET_FOLDS.get(type(event))) is not None:
            fold(self.gflownet, event, place)
        elif (fold := SLSM_FOLDS.get(type(event))) is not None:
            fold(self.slsm, event, place)
        elif (fold := POOL_FOLDS.get(type(event))) is not None:
            fold(self.pool, event, place)
        elif (fold := SCALE_FOLDS.get(type(event))) is not None:
            fold(self.scale, event, place)

    def copy(self) -> RunState:
        """The state as of now, which can be folded on by itself."""
        other = copy.copy(self)
        for name in ("stages", "running", "final", "usage"):
            setattr(other, name, dict(getattr(self, name)))
        for name in ("notices", "rollouts", "pairs", "picks", "decisions", "outcomes", "training"):
            setattr(other, name, getattr(self, name).share())
        other.evolution = self.evolution.share()
        other.gflownet = self.gflownet.share()
        other.slsm = self.slsm.share()
        other.pool = self.pool.share()
        other.scale = self.scale.share()
        other.curves = {method: curve.share() for method, curve in self.curves.items()}
        return other

    @property
    def active_stage(self) -> StageState | None:
        """The stage at work, or paused."""
        return next((stage for stage in self.stages.values() if stage.active), None)

    @property
    def failure(self) -> ev.StageFailed | None:
        """What went wrong last, if it stands."""
        return next((s.error for s in reversed(self.stages.values()) if s.error is not None), None)

    @property
    def methods(self) -> list[ev.MethodEvaluated]:
        """Each method's row: final where there is one, else running."""
        return [self.final.get(method, row) for method, row in self.running.items()]

    def question(self, example: str) -> str:
        """The example's question, or nothing while no event has told it."""
        return self.questions.get(example, "")


def _header(state: RunState, event: ev.Header, place: Place) -> None:
    state.header = event
    for name in event.stages:
        state.stages.setdefault(name, StageState(name))


def _worker_started(state: RunState, event: ev.WorkerStarted, place: Place) -> None:
    state.worker = event
    state.status = "running"
    state.kept = ""
    for name in event.stages:
        stage = state.stages.get(name, StageState(name))
        # What an earlier worker left half done is neither running nor wrong any more.
        left = stage.status in (stages.RUNNING, stages.PAUSED, stages.STOPPED, stages.FAILED)
        state.stages[name] = replace(stage, status=stages.WAITING, error=None) if left else stage


def _worker_stopped(state: RunState, event: ev.WorkerStopped, place: Place) -> None:
    state.status = event.status
    state.kept = event.kept
    for name, stage in state.stages.items():
        if stage.active:
            state.stages[name] = replace(stage, status=stages.STOPPED)


def _change(state: RunState, event: ev.Event, **changes: object) -> None:
    stage = state.stages.get(event.stage) or StageState(event.stage)
    state.stages[event.stage] = replace(stage, **changes)  # type: ignore[arg-type]


def _stage_started(state: RunState, event: ev.StageStarted, place: Place) -> None:
    _change(
        state,
        event,
        status=stages.RUNNING,
        done=event.done,
        begun_at=event.done,
        total=event.total,
        unit=event.unit,
        tokens=0,
        elapsed=0.0,
        note="",
        started=event.time,
        error=None,
    )


def _stage_progress(state: RunState, event: ev.StageProgress, place: Place) -> None:
    _change(
        state,
        event,
        done=event.done,
        total=event.total,
        tokens=event.tokens,
        elapsed=event.elapsed,
        note=event.note,
    )


def _stage_finished(state: RunState, event: ev.StageFinished, place: Place) -> None:
    _change(
        state,
        event,
        status=stages.FINISHED,
        seconds=event.seconds,
        summary=event.summary,
        files=tuple(event.files),
        note="",
    )


def _stage_skipped(state: RunState, event: ev.StageSkipped, place: Place) -> None:
    finished = event.stage in state.stages and state.stages[event.stage].status == stages.FINISHED
    _change(state, event, status=stages.FINISHED if finished else stages.SKIPPED)


def _stage_paused(state: RunState, event: ev.StagePaused, place: Place) -> None:
    state.status = "paused"
    _change(state, event, status=stages.PAUSED)


def _stage_resumed(state: RunState, event: ev.StageResumed, place: Place) -> None:
    state.status = "running"
    _change(state, event, status=stages.RUNNING)


def _stage_stopped(state: RunState, event: ev.StageStopped, place: Place) -> None:
    _change(state, event, status=stages.STOPPED, done=event.done)


def _stage_failed(state: RunState, event: ev.StageFailed, place: Place) -> None:
    _change(state, event, status=stages.FAILED, error=event)


def _notice(state: RunState, event: ev.Notice, place: Place) -> None:
    state.notices.append(event)


def _model(state: RunState, event: ev.ModelLoaded, place: Place) -> None:
    state.model = event


def _usage(state: RunState, event: ev.ServerUsage, place: Place) -> None:
    state.usage[event.stage, event.role] = event


def _training(state: RunState, event: ev.TrainingStep, place: Place) -> None:
    state.training.append(event)


def _rollouts(state: RunState, event: ev.RolloutsMined, place: Place) -> None:
    state.questions[event.example] = event.question
    state.rollouts.append(
        Rollouts(
            event.example,
            event.n,
            event.correct,
            event.mean_tokens,
            event.mean_reward,
            event.pairs,
            place,
        ),
        key=event.example,
    )


def _pair(state: RunState, event: ev.PairMined, place: Place) -> None:
    state.pairs.append(
        Pair(
            event.pair,
            event.example,
            event.control_point_m,
            event.layer,
            event.quality,
            event.positives,
            event.negatives,
            event.delta_norm,
            event.source,
            place,
        ),
        key=event.pair,
    )


def _pick(state: RunState, event: ev.EntryPicked, place: Place) -> None:
    state.picks.append(
        Pick(
            event.order,
            event.tool_name,
            event.kind,
            event.example,
            event.control_point_m,
            event.layer,
            event.quality,
            event.gain,
            event.objective,
            event.max_similarity,
            event.reason,
            place,
        ),
        key=(event.order, event.tool_name),
    )


def _memory(state: RunState, event: ev.MemoryBuilt, place: Place) -> None:
    state.memory = event


def _decision(state: RunState, event: ev.DecisionTaken, place: Place) -> None:
    state.decisions.append(event, *place)


def _example(state: RunState, event: ev.ExampleEvaluated, place: Place) -> None:
    state.questions[event.example] = event.question
    state.outcomes.append(event, *place)


def _method(state: RunState, event: ev.MethodEvaluated, place: Place) -> None:
    state.running[event.method] = event
    if event.final:
        state.final[event.method] = event
    state.curves.setdefault(event.method, Grow()).append(CurvePoint(event.n, event.accuracy))


_FOLDS: dict[type, Callable[..., None]] = {
    ev.Header: _header,
    ev.WorkerStarted: _worker_started,
    ev.WorkerStopped: _worker_stopped,
    ev.StageStarted: _stage_started,
    ev.StageProgress: _stage_progress,
    ev.StageFinished: _stage_finished,
    ev.StageSkipped: _stage_skipped,
    ev.StagePaused: _stage_paused,
    ev.StageResumed: _stage_resumed,
    ev.StageStopped: _stage_stopped,
    ev.StageFailed: _stage_failed,
    ev.Notice: _notice,
    ev.ModelLoaded: _model,
    ev.ServerUsage: _usage,
    ev.TrainingStep: _training,
    ev.RolloutsMined: _rollouts,
    ev.PairMined: _pair,
    ev.EntryPicked: _pick,
    ev.MemoryBuilt: _memory,
    ev.DecisionTaken: _decision,
    ev.ExampleEvaluated: _example,
    ev.MethodEvaluated: _method,
}
