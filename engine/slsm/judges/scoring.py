"""Scores of modes: macro mean over axes, cost, and what injections did (spec SLSM; DESIGN 7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.events import ConversationAnswered, ModeScored
from engine.statistics import Interval, macro_bootstrap
from engine.wilson import wilson


@dataclass(frozen=True)
class _Outcome:
    """A conversation under a mode: passed if any attempt did; None if none was judged."""

    axis: str
    passed: bool | None
    injected: bool


def score_mode(
    own: Sequence[ConversationAnswered], baseline: Sequence[ConversationAnswered], failures: int, seed: int
) -> ModeScored:
    """`own`: all answers under one mode; `baseline`: those without a note, empty if there are none."""
    outcomes, plain = _outcomes(own), _outcomes(baseline)
    judged = {key: one for key, one in outcomes.items() if one.passed is not None}
    axes = list(dict.fromkeys(one.axis for one in judged.values()))
    by_axis = [[float(bool(one.passed)) for one in judged.values() if one.axis == axis] for axis in axes]
    score = macro_bootstrap(by_axis, seed) if axes else Interval(0.0, 0.0, 1.0)
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
        score=score.difference,
        low=score.low,
        high=score.high,
        by_axis=[
            [axis, sum(values) / len(values), *wilson(int(sum(values)), len(values)), len(values)]
            for axis, values in zip(axes, by_axis, strict=True)
        ],
        difference=None if difference is None else difference.difference,
        difference_low=None if difference is None else difference.low,
        difference_high=None if difference is None else difference.high,
        injections=sum(one.injected for one in outcomes.values()),
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
    )


def _outcomes(events: Sequence[ConversationAnswered]) -> dict[str, _Outcome]:
    found: dict[str, _Outcome] = {}
    for event in events:
        before = found.get(event.conversation_id)
        verdicts = [one for one in (before and before.passed, event.passed) if one is not None]
        injected = event.injected or (before is not None and before.injected)
        found[event.conversation_id] = _Outcome(event.axis, any(verdicts) if verdicts else None, injected)
    return found
