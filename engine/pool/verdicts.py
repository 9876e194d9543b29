"""The verdicts on pools: the best known pair after the stage beside that of the data as it came; and on the selector:
its pairs beside the most similar ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

import numpy as np
from numpy.typing import NDArray

from engine.closest import with_closest
from engine.events.verdict import Closest, Verdict
from engine.pool.selector.heldout import ORACLE
from engine.seeds import derive_seed
from engine.statistics import paired_bootstrap
from engine.verdict_curve import running, thinned

Floats = NDArray[np.float64]


def pool_verdict(before: Sequence[float], after: Sequence[float], run_seed: int, cost: float) -> Verdict:
    """Of the training queries' oracles, in one order."""
    scores, baseline_scores = np.array(after), np.array(before)
    return _verdict(
        "pool", "given", "oracle", "queries", scores, baseline_scores, run_seed, cost, running(after)
    )


def selector_verdict(
    accuracy: Mapping[str, Floats],
    selector: str,
    rices: str,
    run_seed: int,
    cost: float,
    over_steps: Sequence[float],
) -> Verdict:
    """Of the held-out queries' VQA accuracy, by method and in one order; `over_steps`: while the selector learned.
    Random pairs are simpler than both; the oracle knows the answers."""
    pairs, curve = (accuracy[selector], accuracy[rices]), thinned(over_steps)
    verdict = _verdict(selector, rices, "vqa_accuracy", "held-out queries", *pairs, run_seed, cost, curve)
    simpler = [name for name in accuracy if name not in (selector, rices, ORACLE)]
    return with_closest(
        verdict, (_beside(name, accuracy[name], accuracy[selector], run_seed) for name in simpler)
    )


def _beside(method: str, scores: Floats, reference: Floats, run_seed: int) -> Closest:
    interval = paired_bootstrap(scores, reference, derive_seed(run_seed, "selector", "bootstrap"))
    return Closest(
        method=method,
        n=len(reference),
        value=float(scores.mean()),
        **asdict(interval),
    )


def _verdict(
    method: str,
    baseline: str,
    metric: str,
    items: str,
    scores: Floats,
    baseline_scores: Floats,
    run_seed: int,
    cost: float,
    curve: list[float],
) -> Verdict:
    interval = paired_bootstrap(scores, baseline_scores, derive_seed(run_seed, "selector", "bootstrap"))
    return Verdict(
        method=method,
        baseline=baseline,
        metric=metric,
        items=items,
        graded=True,
        n=len(scores),
        value=float(scores.mean()),
        baseline_value=float(baseline_scores.mean()),
        **asdict(interval),
        fixed=int((scores > baseline_scores).sum()),
        broken=int((scores < baseline_scores).sum()),
        cost=cost or None,
        curve=curve,
    )
