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
    """`state`: a key of `SIGNS`; `fraction`: mean over its stages; `now`: the stage at work, failed, stopped or
    left half done."""

    name: str
    state: str
    fraction: float
    now: StageState | None
    shown: tuple[StageState, ...]

    @property
    def sign(self) -> str:
        """One sign for the state."""
        return SIGNS[self.state]

    @property
    def short(self) -> str:
        """`✓`, `▶ 40%`; never 100% while it works: what comes after its last item takes a while, too."""
        endless = self.now is not None and not self.now.total  # a server works until it is stopped
        known = self.at_work and not endless
        return f"{self.sign} {min(self.fraction, 0.99):.0%}" if known else self.sign

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
    fraction = sum(stage.fraction for stage in shown) / max(1, len(shown))
    for status in _FIRST:
        if (now := next((stage for stage in shown if stage.status == status), None)) is not None:
            return MethodProgress(name, status, fraction, now, shown)
    half_done = next((stage for stage in shown if stage.status == stages.WAITING and stage.done), None)
    done = [stage for stage in shown if stage.status in (stages.FINISHED, stages.SKIPPED)]
    if any(stage.stale for stage in shown):
        state = "stale"
    elif shown and all(stage.status == stages.SKIPPED for stage in shown):
        state = "skipped"
    elif half_done is not None:  # an earlier worker left it
        return MethodProgress(name, "begun", fraction, half_done, shown)
    else:
        state = "finished" if shown and len(done) == len(shown) else "begun" if done else "waiting"
    return MethodProgress(name, state, fraction, None, shown)


def active_method(shown: Sequence[StageState]) -> str | None:
    """The method whose stage is at work."""
    return next((each.name for each in progress_of(shown) if each.at_work), None)
