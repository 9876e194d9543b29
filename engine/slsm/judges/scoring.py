"""Scores of modes: macro mean over axes, cost, and the effect of injections (spec SLSM)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Any

from engine.events import ConversationAnswered, ModeScored
from engine.statistics import macro_bootstrap
from engine.wilson import wilson


@dataclass(frozen=True)
class _Outcome:
    """A conversation under a mode. `passed`: whether any attempt passed; None if no attempt was judged."""

    axis: str
    passed: bool | None
    injected: bool


_COSTS = (
    "note_tokens", "controller_calls", "model_calls", "detector_calls", "controller_tokens", "model_tokens",
    "detector_tokens", "cost",
)  # fmt: skip


def score_mode(
    answered: Sequence[ConversationAnswered],
    baseline: Sequence[ConversationAnswered],
    failures: int,
    seed: int,
) -> ModeScored:
    """Score and cost of a mode. `answered`: all answers under it; `baseline`: the answers of `baseline`, or none."""
    outcomes, plain, n = (
        outcomes_of(answered),
        outcomes_of(baseline),
        len({event.conversation_id for event in answered}),
    )
    judged = {key: outcome for key, outcome in outcomes.items() if outcome.passed is not None}
    axes = list(dict.fromkeys(outcome.axis for outcome in judged.values()))
    passed = {axis: [float(bool(o.passed)) for o in judged.values() if o.axis == axis] for axis in axes}
    score = macro_bootstrap(list(passed.values()), seed) if axes else None
    pairs = both_judged(answered, baseline)
    deltas = [[one - two for one, two in pairs[axis]] for axis in axes if axis in pairs]
    compared = 0 < len(axes) == len(deltas) and answered[0].mode != "baseline"
    difference = macro_bootstrap(deltas, seed) if compared else None
    both = [(outcome, plain[key]) for key, outcome in judged.items() if key in plain]
    injected = [(a.passed, b.passed) for a, b in both if a.injected and b.passed is not None]
    fixed, broke = injected.count((True, False)), injected.count((False, True))

    means: dict[str, Any] = {
        name: sum(getattr(event, name) for event in answered) / max(1, n) for name in _COSTS
    }
    value, low, high = (None, None, None) if score is None else astuple(score)
    ahead, ahead_low, ahead_high = (None, None, None) if difference is None else astuple(difference)
    return ModeScored(
        mode=answered[0].mode,
        memory_mode=answered[0].memory_mode,
        n=n,
        judged=len(judged),
        score=value,
        low=low,
        high=high,
        by_axis=[
            [axis, sum(values) / len(values), *wilson(int(sum(values)), len(values)), len(values)]
            for axis, values in passed.items()
        ],
        difference=ahead,
        difference_low=ahead_low,
        difference_high=ahead_high,
        injections=sum(outcome.injected for outcome in outcomes.values()),
        injected_tokens=means.pop("note_tokens"),
        fixed=fixed,
        wasted=len(injected) - fixed - broke,
        broke=broke,
        failures=failures,
        cut=len({event.conversation_id for event in answered if event.cut}),
        unanswered=len({event.conversation_id for event in answered if event.failure}),
        **means,
    )


def both_judged(
    first: Sequence[ConversationAnswered], second: Sequence[ConversationAnswered]
) -> dict[str, list[tuple[float, float]]]:
    """Of the conversations that are judged under both: 1 where it passes, else 0, by axis."""
    one, two = outcomes_of(first), outcomes_of(second)
    pairs: dict[str, list[tuple[float, float]]] = {}
    for key, outcome in one.items():
        if key in two and outcome.passed is not None and two[key].passed is not None:
            pairs.setdefault(outcome.axis, []).append((float(outcome.passed), float(bool(two[key].passed))))
    return pairs


def outcomes_of(events: Sequence[ConversationAnswered]) -> dict[str, _Outcome]:
    """The outcome of each conversation, over its attempts."""
    outcomes: dict[str, _Outcome] = {}
    for event in events:
        before = outcomes.get(event.conversation_id)
        verdicts = [passed for passed in (before and before.passed, event.passed) if passed is not None]
        injected = event.injected or (before is not None and before.injected)
        outcomes[event.conversation_id] = _Outcome(event.axis, any(verdicts) if verdicts else None, injected)
    return outcomes
