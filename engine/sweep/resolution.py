"""Which differences between settings show at all: all settings answered the same items, so pairs are compared, and as
the best of many is picked, all pairs at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.statistics import mcnemar

RESAMPLES = 2_000
LEVEL = 0.95
_SEED = 0


@dataclass(frozen=True)
class Resolution:
    """Over `n` items. `tied`: the settings that cannot be distinguished from the best, which is left out. `smallest`:
    how far two settings have to be apart to be distinguished, the median over all pairs; None where no pair differs.
    `optimism`: by how much the best one's figure is too high on average, because it was picked by it."""

    n: int
    best: int
    tied: tuple[int, ...]
    smallest: float | None
    optimism: float


def resolution(
    scores: Sequence[Sequence[float]], best: int | None = None, lower_is_better: bool = False
) -> Resolution:
    """From each setting's scores on the same items. `best`: which of equally good settings was picked.

    Intervals of all pairs hold together: the items are resampled for all settings at once, and the largest deviation of
    any pair, in standard errors, sets their width (the bootstrap of Romano & Wolf 2005, max-T).
    """
    table = np.asarray(scores, dtype=np.float64) * (-1.0 if lower_is_better else 1.0)
    count, n = table.shape
    means = table.mean(axis=1)
    best = int(means.argmax()) if best is None else best
    drawn = _resampled(table)
    optimism = float(np.mean(drawn.max(axis=1) - means[drawn.argmax(axis=1)])) if count > 1 else 0.0
    if count == 1:
        return Resolution(n, best, (), None, 0.0)
    first, second = np.triu_indices(count, 1)
    observed = means[first] - means[second]
    deviations = drawn[:, first] - drawn[:, second] - observed
    errors = deviations.std(axis=0)
    shown = errors > 0
    width = _width(deviations[:, shown], errors[shown])
    half = np.where(shown, width * errors, 0.0)  # every item differs alike: the exact test alone decides
    tied = [
        int(b if a == best else a)
        for a, b, gap, needed in zip(first, second, np.abs(observed), half, strict=True)
        # Of a handful of items that differ the bootstrap thinks too well: the exact test has to agree.
        if best in (a, b) and (gap <= needed or mcnemar(table[a], table[b]) > 1 - LEVEL)
    ]
    smallest = float(np.median(half[shown])) if shown.any() else None
    return Resolution(n, best, tuple(tied), smallest, max(0.0, optimism))


def _resampled(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """(resamples, settings): means over items drawn with replacement, the same items for all settings."""
    n = table.shape[1]
    counts = np.random.default_rng(_SEED).multinomial(n, np.full(n, 1 / n), size=RESAMPLES)
    return counts @ table.T / n


def _width(deviations: NDArray[np.float64], errors: NDArray[np.float64]) -> float:
    """Standard errors within which all pairs stay together in `LEVEL` of the resamples."""
    if not deviations.shape[1]:
        return 0.0
    return float(np.quantile(np.abs(deviations / errors).max(axis=1), LEVEL))
