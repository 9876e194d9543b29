"""The curve of each method, with its baseline's curve or level in the same scale."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import accumulate

from app.state.run import RunState
from app.verdict_text import verdicts
from app.words import short_method_name
from engine.events.verdict import SHARE, Verdict

_FEW = 10


@dataclass(frozen=True)
class Curve:
    """`figure`: what runs up; `over`: what it runs over; `name`: whose it is. `baseline`: as many values as were known
    then, or one that is a level; none where there is nothing to compare with. `digits`: behind the point."""

    figure: str
    over: str
    name: str
    values: tuple[float, ...]
    baseline_name: str = ""
    baseline: tuple[float, ...] = ()
    digits: int = 3


def curve_of(method: str, state: RunState, verdict: Verdict | None) -> Curve | None:
    """A method's curve, by its title: as the log has it, else as its verdict has it. None before its second value."""
    draw = _CURVES.get(method)
    curve = draw(state) if draw is not None else None
    if (curve is None or len(curve.values) < 2) and verdict is not None:
        curve = _of_verdict(verdict)
    return curve if curve is not None and len(curve.values) > 1 else None


def _of_verdict(verdict: Verdict) -> Curve:
    name, baseline = short_method_name(verdict.method), short_method_name(verdict.baseline)
    level, digits = (verdict.baseline_value,), 3 if verdict.unit == SHARE else 1
    return Curve(
        verdict.metric.replace("_", " "), "the work", name, tuple(verdict.curve), baseline, level, digits
    )


def _esm(state: RunState) -> Curve:
    own, greedy = (
        tuple(point.accuracy for point in state.esm.curves.get(name, ())) for name in ("esm", "greedy")
    )
    if not own:
        return Curve("accuracy so far", "the problems", "greedy", greedy)
    return Curve("accuracy so far", "the problems", "ESM", own, "greedy", greedy)


def _evolution(state: RunState) -> Curve:
    scores = [item.minibatch for item in state.evolution.iterations.values() if item.minibatch is not None]
    tokens = tuple(score.mean_tokens for score in scores)
    plain = state.evolution.compared.get("no_processor") or state.evolution.baseline
    level = () if plain is None else (plain.mean_tokens,)
    return Curve("tokens of an answer", "the iterations", "Evolution", tokens, "unchanged", level, 1)


def _gflownet(state: RunState) -> Curve:
    hits = {method: [row.hit for row in state.gflownet.answers if row.method == method]
            for method in ("gflownet", "triples")}  # fmt: skip
    if hits["gflownet"]:
        own, triples = map(_so_far, hits.values())
        return Curve("right so far", "the questions", "GFlowNet", own, "triples", triples)
    steps = tuple(row.success for row in state.gflownet.steps)
    return Curve("paths that meet an answer", "the steps", "GFlowNet", steps)


def _slsm(state: RunState) -> Curve:
    """Of the mode and the baseline that were answered first, as the verdict chooses them; with its own memory."""
    stated = verdicts(state.stages, state.slsm.stages_shown)
    mode, baseline = (stated[-1].method, stated[-1].baseline) if stated else ("on_detection", "baseline")
    rows = [row for row in state.slsm.results if row.mode == mode]
    own = _so_far(row.passed for row in rows if row.memory_mode == rows[0].memory_mode)
    plain = _so_far(row.passed for row in state.slsm.results if row.mode == baseline)
    names = short_method_name(mode), short_method_name(baseline)
    return Curve("passed so far", "the conversations", names[0], own, names[1], plain)


def _pool(state: RunState) -> Curve:
    scores = tuple(step.heldout_accuracy for step in state.pool.steps if step.heldout_accuracy is not None)
    if scores:
        rices = state.pool.compared.get("rices")
        level = () if rices is None else (rices.accuracy,)
        return Curve("held-out score", "the steps", "selector", scores, "similarity", level)
    own, given = (_so_far(getattr(row, name) for row in state.pool.queries) for name in ("after", "before"))
    return Curve("score of the best pair so far", "the queries", "pool", own, "as given", given)


def _so_far(values: Iterable[float | None]) -> tuple[float, ...]:
    """The mean of all values so far, after each of them; without those that are not known. Of many, the first means
    are left out: they are of few values, and would set the scale."""
    known = [float(value) for value in values if value is not None]
    means = tuple(total / count for count, total in enumerate(accumulate(known), 1))
    return means[_FEW:] if len(means) >= 4 * _FEW else means


_CURVES: dict[str, Callable[[RunState], Curve]] = {
    "ESM": _esm,
    "Evolution": _evolution,
    "GFlowNet": _gflownet,
    "SLSM": _slsm,
    "Pool": _pool,
}
