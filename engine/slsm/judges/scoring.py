"""Scores of modes: macro mean over axes, cost, and the effect of injections (spec SLSM; DESIGN 7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.events import ConversationAnswered, ModeScored
from engine.statistics import macro_bootstrap
from engine.wilson import wilson


@dataclass(frozen=True)
class _Outcome:
    """A conversation under a mode. `passed`: whether any attempt passed; None if no attempt was judged."""

    axis: str
    passed: bool | None
    injected: bool


def score_mode(
    own: Sequence[ConversationAnswered], baseline: Sequence[ConversationAnswered], failures: int, seed: int
) -> ModeScored:
    """Score and cost of a mode. `own`: all answers under it; `baseline`: the answers of `baseline`, or none."""
    outcomes, plain = outcomes_of(own), outcomes_of(baseline)
    judged = {key: outcome for key, outcome in outcomes.items() if outcome.passed is not None}
    axes = list(dict.fromkeys(outcome.axis for outcome in judged.values()))
    by_axis = [
        [float(bool(outcome.passed)) for outcome in judged.values() if outcome.axis == axis] for axis in axes
    ]
    score = macro_bootstrap(by_axis, seed) if axes else None
    both = {key for key in judged if plain.get(key) is not None and plain[key].passed is not None}
    is_baseline = bool(own) and own[0].mode == "baseline"
    deltas = [
        [
            float(bool(judged[key].passed)) - float(bool(plain[key].passed))
            for key in judged
            if key in both and judged[key].axis == axis
        ]
        for axis in axes
    ]
    difference = macro_bootstrap(deltas, seed) if axes and all(deltas) and not is_baseline else None
    injected = [key for key in both if judged[key].injected]
    fixed = sum(bool(judged[key].passed) > bool(plain[key].passed) for key in injected)
    broke = sum(bool(judged[key].passed) < bool(plain[key].passed) for key in injected)
    n = len(outcomes)

    def mean(name: str) -> float:
        return sum(getattr(event, name) for event in own) / max(1, n)

    return ModeScored(
        mode=own[0].mode,
        memory_mode=own[0].memory_mode,
        n=n,
        judged=len(judged),
        score=None if score is None else score.difference,
        low=None if score is None else score.low,
        high=None if score is None else score.high,
        by_axis=[
            [axis, sum(values) / len(values), *wilson(int(sum(values)), len(values)), len(values)]
            for axis, values in zip(axes, by_axis, strict=True)
        ],
        difference=None if difference is None else difference.difference,
        difference_low=None if difference is None else difference.low,
        difference_high=None if difference is None else difference.high,
        injections=sum(outcome.injected for outcome in outcomes.values()),
        injected_tokens=mean("note_tokens"),
        controller_calls=mean("controller_calls"),
        model_calls=mean("model_calls"),
        detector_calls=mean("detector_calls"),
        controller_tokens=mean("controller_tokens"),
        model_tokens=mean("model_tokens"),
        detector_tokens=mean("detector_tokens"),
        cost=mean("cost"),
        fixed=fixed,
        wasted=len(injected) - fixed - broke,
        broke=broke,
        failures=failures,
        cut=len({event.conversation_id for event in own if event.cut}),
        unanswered=len({event.conversation_id for event in own if event.failure}),
    )


def outcomes_of(events: Sequence[ConversationAnswered]) -> dict[str, _Outcome]:
    """The outcome of each conversation, over its attempts."""
    outcomes: dict[str, _Outcome] = {}
    for event in events:
        before = outcomes.get(event.conversation_id)
        verdicts = [passed for passed in (before and before.passed, event.passed) if passed is not None]
        injected = event.injected or (before is not None and before.injected)
        outcomes[event.conversation_id] = _Outcome(event.axis, any(verdicts) if verdicts else None, injected)
    return outcomes
