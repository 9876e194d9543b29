"""How far each stage of a run is, from its own events: the one fold that worker, batch, list and console share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from engine import events as ev

WAITING, RUNNING, PAUSED, FINISHED, SKIPPED, STOPPED, FAILED = (
    "waiting", "running", "paused", "finished", "skipped", "stopped", "failed",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class StageState:
    """A stage as its last event left it. `begun_at`: items that were there when its pace began to be measured, with
    this attempt or `begun_after` seconds of it; `tokens`, `elapsed`: of this attempt. `working`: the call to a model
    that goes on. `stale`: what it reached is of an earlier attempt, and is to be done again; `status` is then WAITING,
    or SKIPPED where the user leaves it out."""

    name: str
    status: str = WAITING
    done: int = 0
    total: int = 0
    unit: str = "items"
    begun_at: int = 0
    begun_after: float = 0.0
    tokens: int = 0
    elapsed: float = 0.0
    note: str = ""
    started: float = 0.0
    seconds: float = 0.0
    summary: dict[str, float | int | str] = field(default_factory=dict)
    files: tuple[str, ...] = ()
    error: ev.StageFailed | None = None
    stop: ev.StageStopped | None = None
    verdict: ev.Verdict | None = None
    working: ev.ModelWorking | None = None
    stale: bool = False

    @property
    def active(self) -> bool:
        """Whether it is at work, or waits in the middle of it."""
        return self.status in (RUNNING, PAUSED)

    @property
    def fraction(self) -> float:
        """Between 0 and 1."""
        if self.status in (FINISHED, SKIPPED):
            return 1.0
        return min(1.0, self.done / self.total) if self.total > 0 else 0.0

    @property
    def tokens_per_second(self) -> float | None:
        """None before anything was generated."""
        return self.tokens / self.elapsed if self.tokens and self.elapsed > 0 else None

    @property
    def items_per_second(self) -> float | None:
        """None before the first item of this attempt."""
        new, seconds = self.done - self.begun_at, self.elapsed - self.begun_after
        return new / seconds if new > 0 and seconds > 0 else None

    @property
    def eta(self) -> float | None:
        """Seconds to go at the pace so far; None when there is no pace yet or nothing left to do."""
        pace = self.items_per_second
        if pace is None or not self.active or self.done >= self.total:
            return None
        return (self.total - self.done) / pace


Stages = dict[str, StageState]
"""By name, in the order of the run."""


def fold_stages(stages: Stages, event: ev.Event) -> None:
    """Change `stages` by an event of any type; most types change nothing."""
    if (fold := _FOLDS.get(type(event))) is not None:
        fold(stages, event)


def _header(stages: Stages, event: ev.Header) -> None:
    for name in event.stages:
        stages.setdefault(name, StageState(name))


def _worker_started(stages: Stages, event: ev.WorkerStarted) -> None:
    for name in event.stages:
        stage = stages.get(name, StageState(name))
        # What an earlier worker left half done is neither running nor wrong any more.
        left = stage.status in (RUNNING, PAUSED, STOPPED, FAILED)
        stages[name] = replace(stage, status=WAITING, error=None, stop=None) if left else stage


def _worker_stopped(stages: Stages, event: ev.WorkerStopped) -> None:
    for name, stage in stages.items():
        if stage.active:
            stages[name] = replace(stage, status=STOPPED)


def _change(stages: Stages, event: ev.Event, **changes: Any) -> None:
    stages[event.stage] = replace(stages.get(event.stage) or StageState(event.stage), **changes)


def _started(stages: Stages, event: ev.StageStarted) -> None:
    _change(
        stages, event, status=RUNNING, done=event.done, begun_at=event.done, total=event.total, unit=event.unit,
        tokens=0, elapsed=0.0, note="", started=event.time, error=None, working=None,
    )  # fmt: skip


def _progress(stages: Stages, event: ev.StageProgress) -> None:
    _change(
        stages, event, done=event.done, total=event.total, tokens=event.tokens, elapsed=event.elapsed,
        note=event.note, working=None,
    )  # fmt: skip


def _working(stages: Stages, event: ev.ModelWorking) -> None:
    over = event.role and event.done == event.sequences
    _change(stages, event, working=None if over else event)


def _finished(stages: Stages, event: ev.StageFinished) -> None:
    _change(
        stages, event, status=FINISHED, seconds=event.seconds, summary=event.summary, files=tuple(event.files),
        verdict=event.verdict, note="", working=None,
    )  # fmt: skip


def _chosen(stages: Stages, event: ev.StagesChosen) -> None:
    for name, stage in stages.items():
        if name in event.stale:
            stage = StageState(
                name, seconds=stage.seconds, summary=stage.summary, files=stage.files, verdict=stage.verdict,
                stale=True,
            )  # fmt: skip
        if name in event.skipped:
            stage = replace(stage, status=SKIPPED, error=None)
        elif stage.status == SKIPPED:
            stage = replace(stage, status=WAITING)
        stages[name] = stage


def _begun_again(stages: Stages, event: ev.StageBegunAgain) -> None:
    stages[event.stage] = StageState(event.stage)


def _stopped(stages: Stages, event: ev.StageStopped) -> None:
    _change(stages, event, status=STOPPED, done=event.done, stop=event)


def _failed(stages: Stages, event: ev.StageFailed) -> None:
    _change(stages, event, status=FAILED, error=event)


def _becomes(status: str) -> Callable[[Stages, Any], None]:
    return lambda stages, event: _change(stages, event, status=status)


def _holds(status: str) -> Callable[[Stages, Any], None]:
    """Of a stage at work: a pause between two stages is logged with the one that is finished."""

    def fold(stages: Stages, event: ev.Event) -> None:
        if event.stage in stages and stages[event.stage].active:
            _change(stages, event, status=status)

    return fold


_FOLDS: dict[type, Callable[[Stages, Any], None]] = {
    ev.Header: _header,
    ev.WorkerStarted: _worker_started,
    ev.WorkerStopped: _worker_stopped,
    ev.StageStarted: _started,
    ev.StageProgress: _progress,
    ev.ModelWorking: _working,
    ev.StageFinished: _finished,
    ev.StageFinishedBefore: _becomes(FINISHED),
    ev.StageSkipped: _becomes(FINISHED),
    ev.StagesChosen: _chosen,
    ev.StageBegunAgain: _begun_again,
    ev.StagePaused: _holds(PAUSED),
    ev.StageResumed: _holds(RUNNING),
    ev.StageStopped: _stopped,
    ev.StageFailed: _failed,
}
