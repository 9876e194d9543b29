"""The verdicts on pools: the best known pair after the stage beside that of the data as it came; and on the selector:
its pairs beside the most similar ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from engine.closest import paired_closest, paired_verdict, with_closest
from engine.events.verdict import Verdict
from engine.seeds import derive_seed
from engine.verdict_curve import running, thinned


def pool_verdict(before: Sequence[float], after: Sequence[float], run_seed: int, cost: float) -> Verdict:
    """Of the training queries' oracles, in one order."""
    seed = derive_seed(run_seed, "selector", "bootstrap")
    return paired_verdict(
        "pool", "given", "oracle", after, before, seed, items="queries", graded=True, cost=cost or None,
        curve=running(after),
    )  # fmt: skip


def selector_verdict(
    accuracy: Mapping[str, NDArray[np.float64]],
    selector: str,
    rices: str,
    run_seed: int,
    cost: float,
    over_steps: Sequence[float],
) -> Verdict:
    """Of the held-out queries' VQA accuracy, by method and in one order; `over_steps`: while the selector learned.
    Random pairs are simpler than both."""
    seed = derive_seed(run_seed, "selector", "bootstrap")
    ours = accuracy[selector]
    verdict = paired_verdict(
        selector, rices, "vqa_accuracy", ours, accuracy[rices], seed, items="held-out queries", graded=True,
        cost=cost or None, curve=thinned(over_steps),
    )  # fmt: skip
    simpler = [name for name in accuracy if name not in (selector, rices)]
    return with_closest(verdict, (paired_closest(name, accuracy[name], ours, seed) for name in simpler))
