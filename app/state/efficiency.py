"""Where time, tokens and memory went, folded from the stages' progress: a point a second at most."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from app.state.columns import AppendOnlyList
from app.state.method import MethodState, Place
from engine import events as ev

EVERY = 1.0
"""Seconds between two points."""


class Moment(NamedTuple):
    """`per_second`: tokens since the moment before, in a second; memory in bytes, 0 where it was not measured."""

    time: float
    stage: str
    per_second: float
    resident: int
    gpu: int


@dataclass(frozen=True, slots=True)
class StageUse:
    """Of all attempts at a stage. `before`: tokens of the attempts before this one; the largest memory in bytes."""

    tokens: int = 0
    before: int = 0
    resident: int = 0
    gpu: int = 0

    @property
    def all_tokens(self) -> int:
        """Generated in all attempts."""
        return self.before + self.tokens


class EfficiencyState(MethodState):
    """`stages`: use by stage; `moments`: over the run's time."""

    def __init__(self) -> None:
        self.stages: dict[str, StageUse] = {}
        self.moments: AppendOnlyList[Moment] = AppendOnlyList()
        self._before = 0

    def counted(self) -> int:
        """Tokens of all stages and attempts."""
        return sum(use.all_tokens for use in self.stages.values())


@EfficiencyState.on(ev.StageProgress)
def _progress(state: EfficiencyState, event: ev.StageProgress, place: Place) -> None:
    use = state.stages.get(event.stage, StageUse())
    if event.tokens < use.tokens:  # a new attempt counts from 0
        use = replace(use, before=use.all_tokens)
    state.stages[event.stage] = StageUse(
        event.tokens, use.before, max(use.resident, event.resident), max(use.gpu, event.gpu)
    )
    last = state.moments[-1] if len(state.moments) else None
    if last is not None and event.time - last.time < EVERY:
        return
    tokens = state.counted()
    seconds = event.time - last.time if last is not None else 0.0
    pace = (tokens - state._before) / seconds if seconds > 0 and last and last.stage == event.stage else 0.0
    state._before = tokens
    state.moments.append(
        Moment(event.time, event.stage, max(0.0, pace), event.resident, event.gpu), key=event.seq
    )
