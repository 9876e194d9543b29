"""How long a run will still take, as far as that can be known.

The stage at work goes on at its pace so far. A stage of the demo that waits takes as long as on two cores, at the pace
of the stages that began here. Of others nobody knows, and that is what is said.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from app.wording.text import duration, listed
from engine.run.stage_state import FINISHED, SKIPPED, StageState

_MOST_NAMES = 3

DEMO = {
    "mine": 15, "select": 1.5, "memory": 0.5, "eval": 12.5, "clusters": 4, "evolve": 20.5, "graphs": 5.5,
    "retriever": 12, "agent-graphs": 0.5, "gflownet": 30, "answer": 5, "slsm": 7.5, "pool": 5, "selector": 12,
}  # fmt: skip
"""Seconds of the stages of configs/demo.yaml on a quiet machine of two cores."""


@dataclass(frozen=True)
class TimeLeft:
    """`seconds` of all unfinished stages but those of `unknown`; `shipped`: those known from another machine, at the
    pace of this one where `paced`."""

    seconds: float
    unknown: tuple[str, ...] = ()
    shipped: tuple[str, ...] = ()
    paced: bool = True

    @property
    def whole(self) -> float | None:
        """Seconds until all stages are done; None where that is not known."""
        return None if self.unknown else self.seconds


def time_left(run: str, stages: Iterable[StageState]) -> TimeLeft | None:
    """Of the run of this name, whose worker works; None where nothing is left to do, and of a server, which works until
    a stop."""
    stages = list(stages)
    left = [stage for stage in stages if stage.status not in (FINISHED, SKIPPED) and stage.name != "serve"]
    if not left:
        return None
    known = DEMO if run == "demo" and {stage.name for stage in stages} <= DEMO.keys() else {}
    known_pace = _pace(stages, known)
    pace = known_pace or 1.0
    seconds, unknown, shipped = 0.0, [], []
    for stage in left:
        if stage.eta is not None:
            seconds += stage.eta
        elif stage.active and stage.done >= stage.total > 0:
            pass  # it writes its results
        elif stage.name in known:
            seconds += pace * known[stage.name] * (1 - stage.fraction)
            shipped.append(stage.name)
        else:
            unknown.append(stage.name)
    return TimeLeft(seconds, tuple(unknown), tuple(shipped), known_pace is not None)


def _pace(stages: Iterable[StageState], shipped: Mapping[str, float]) -> float | None:
    """How many times as long the stages that began here take; None before that is known."""
    begun = {stage.name: seconds for stage in stages if stage.name in shipped and (seconds := _whole(stage))}
    return sum(begun.values()) / sum(shipped[name] for name in begun) if begun else None


def _whole(stage: StageState) -> float:
    """Seconds of all its items, at the pace so far; 0 where that is not known."""
    if stage.status == FINISHED:
        return stage.seconds
    return 0.0 if stage.eta is None or stage.begun_at else stage.elapsed + stage.eta


def time_left_sentence(left: TimeLeft) -> str:
    """`about 12:30 left (eval by another machine's times, at the pace of this one)`; `at least 0:42 left, without
    select and eval: how long that takes is not known yet`."""
    if left.unknown and not left.seconds:
        return "time left not known yet"
    if left.unknown:
        without = f"without {_listed(left.unknown)}: how long that takes is not known yet"
        return f"at least {duration(left.seconds)} left, {without}"
    source = f"{_listed(left.shipped)} by another machine's times{', at the pace of this one' if left.paced else ''}"
    return f"about {duration(left.seconds)} left" + (f" ({source})" if left.shipped else "")


def _listed(stages: Sequence[str]) -> str:
    if len(stages) > _MOST_NAMES:
        return f"{len(stages)} stages"
    return listed(stages)
