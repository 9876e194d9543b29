"""Where time, tokens and memory went, folded from the stages' progress."""

from __future__ import annotations

from dataclasses import dataclass, replace

from app.state.method import MethodState, Place
from engine import events as ev


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
    """`stages`: use by stage."""

    def __init__(self) -> None:
        self.stages: dict[str, StageUse] = {}

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
