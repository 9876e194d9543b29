"""How far each method of a run is, from the states of its stages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.wording.stage_words import STAGE_SIGNS, STALE_SIGN
from engine.run import stage_state as stages
from engine.run.stage_state import StageState
from screens.systems import systems_of

SIGNS = {**STAGE_SIGNS, "stale": STALE_SIGN, "begun": "◐"}
_FIRST = (stages.FAILED, stages.RUNNING, stages.PAUSED, stages.STOPPED)
"""A method is what one of its stages is; of several, in this order."""


@dataclass(frozen=True)
class MethodProgress:
    """`state`: a key of `SIGNS`; `now`: the stage at work, failed, stopped or left half done."""

    name: str
    state: str
    now: StageState | None
    shown: tuple[StageState, ...]

    @property
    def short(self) -> str:
        """`✓`; `▶ 40%` of its stage; of several, `▶ 4/4 40%`: of the fourth. Nobody knows how long stages take beside
        one another, so they are no share of the method. Never 100%: after the last item something follows, too."""
        now, sign = self.now, SIGNS[self.state]
        if now is None or not (now.active and now.total):  # a server works until it is stopped
            return sign
        place = f"{self.shown.index(now) + 1}/{len(self.shown)} " if len(self.shown) > 1 else ""
        return f"{sign} {place}{min(now.fraction, 0.99):.0%}"

    @property
    def at_work(self) -> bool:
        """Whether one of its stages works, or waits in the middle of it."""
        return self.now is not None and self.now.active

    @property
    def seconds(self) -> float:
        """Of its finished stages."""
        return sum(stage.seconds for stage in self.shown)


def progress_of(shown: Sequence[StageState]) -> list[MethodProgress]:
    """The methods of a run, in the order of its first stage of each."""
    by_name = {stage.name: stage for stage in shown}
    methods = []
    for method in systems_of(by_name):
        stages = [by_name[name] for name in method.stages_shown if name in by_name]
        also = [by_name[name] for name in method.also_shows if name in by_name]
        methods.append(_progress(method.title, tuple(stages or also)))
    return methods


def _progress(name: str, shown: tuple[StageState, ...]) -> MethodProgress:
    for status in _FIRST:
        if (now := next((stage for stage in shown if stage.status == status), None)) is not None:
            return MethodProgress(name, status, now, shown)
    half_done = next((stage for stage in shown if stage.status == stages.WAITING and stage.done), None)
    done = [stage for stage in shown if stage.status in (stages.FINISHED, stages.SKIPPED)]
    if any(stage.stale for stage in shown):
        state = "stale"
    elif shown and all(stage.status == stages.SKIPPED for stage in shown):
        state = "skipped"
    elif half_done is not None:  # an earlier worker left it
        return MethodProgress(name, "begun", half_done, shown)
    else:
        state = "finished" if shown and len(done) == len(shown) else "begun" if done else "waiting"
    return MethodProgress(name, state, None, shown)


def active_method(shown: Sequence[StageState]) -> str | None:
    """The method whose stage is at work."""
    return next((each.name for each in progress_of(shown) if each.at_work), None)
