"""The verdict on an evolution: tokens of an answer under the best deltas, and whether they stay right."""

from __future__ import annotations

from collections.abc import Sequence

from engine.closest import with_closest
from engine.events import MethodCompared
from engine.events.verdict import TOKENS, Closest, Kept, Verdict
from engine.evolution.history import Iteration
from engine.evolution.scoring.comparison import BEST, PLAIN, Method
from engine.verdict_curve import thinned


def evolution_verdict(
    rows: Sequence[MethodCompared],
    methods: Sequence[Method],
    ahead: Sequence[str],
    cost: float,
    iterations: Sequence[Iteration],
) -> Verdict:
    """From the comparison on the test set. `ahead`: baselines with a higher composite; `cost`: of the whole stage.
    The composite decides which baseline comes closest: by tokens alone, whoever cuts every answer short would. The
    curve is the tokens of an answer over the iterations, each on its own minibatch."""
    row = {row.method: row for row in rows}
    outcomes = {method.name: method.outcomes for method in methods}
    best, plain = row[BEST], row[PLAIN]
    pairs = [
        (ours.correct, other.correct)
        for ours, other in zip(outcomes[BEST], outcomes[PLAIN], strict=True)
        if ours.correct is not None and other.correct is not None
    ]
    kept = None
    if pairs and best.difference is not None and best.low is not None and best.high is not None:
        kept = Kept(
            metric="correctness",
            n=len(pairs),
            value=sum(ours for ours, _ in pairs) / len(pairs),
            baseline_value=sum(other for _, other in pairs) / len(pairs),
            difference=best.difference,
            low=best.low,
            high=best.high,
        )
    verdict = Verdict(
        method="evolution", baseline="unchanged", metric="mean_tokens", items="test questions", unit=TOKENS,
        lower_is_better=True, n=len(outcomes[BEST]), value=best.mean_tokens, baseline_value=plain.mean_tokens,
        difference=best.tokens_difference or 0.0, low=best.tokens_low or 0.0, high=best.tokens_high or 0.0,
        fixed=sum(ours > other for ours, other in pairs), broken=sum(ours < other for ours, other in pairs),
        kept=kept, ahead=list(ahead), tokens=best.mean_tokens, baseline_tokens=plain.mean_tokens, cost=cost or None,
        curve=thinned(item.score.mean_tokens for item in iterations),
    )  # fmt: skip
    return with_closest(verdict, (_beside(row, verdict.n) for row in rows if row.method not in (BEST, PLAIN)))


def _beside(row: MethodCompared, n: int) -> Closest:
    """A baseline beside the best deltas, over the same questions."""
    return Closest(
        method=row.method,
        n=n,
        value=row.composite,
        difference=row.ahead or 0.0,
        low=row.ahead_low or 0.0,
        high=row.ahead_high or 0.0,
        metric="composite",
        tokens=row.mean_tokens,
    )
