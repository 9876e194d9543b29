"""Verdicts from paired scores, and which simpler method comes closest to the one that a verdict is about.

A simpler method, an ablation or a baseline, counts as *as good* if it is *not shown to be worse*: the paired bootstrap
95% interval of its difference from the method, over the same items, holds zero or lies on the better side. That is
weaker than shown to be equal: the fewer the items, the more is as good. So its figure and the interval stand beside it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from math import inf
from typing import Any

import numpy as np
from msgspec.structs import replace
from numpy.typing import ArrayLike

from engine.events.verdict import Closest, Verdict
from engine.statistics import paired_bootstrap


def paired_verdict(
    method: str,
    baseline: str,
    metric: str,
    scores: ArrayLike,
    baseline_scores: ArrayLike,
    seed: int,
    **more: Any,
) -> Verdict:
    """The method's scores beside the baseline's, of the same items in one order. `more`: the verdict's other fields."""
    ours, others = np.asarray(scores, dtype=np.float64), np.asarray(baseline_scores, dtype=np.float64)
    return Verdict(
        method=method,
        baseline=baseline,
        metric=metric,
        n=len(ours),
        value=float(ours.mean()),
        baseline_value=float(others.mean()),
        **asdict(paired_bootstrap(ours, others, seed)),
        fixed=int((ours > others).sum()),
        broken=int((ours < others).sum()),
        **more,
    )


def paired_closest(method: str, scores: ArrayLike, reference: ArrayLike, seed: int) -> Closest:
    """A simpler method's scores beside the method's, of the same items in one order."""
    simple = np.asarray(scores, dtype=np.float64)
    interval = paired_bootstrap(simple, reference, seed)
    return Closest(method=method, n=len(simple), value=float(simple.mean()), **asdict(interval))


def with_closest(verdict: Verdict, simpler: Iterable[Closest]) -> Verdict:
    """The verdict with the best of those that are as good, the cheapest of equal ones. Without one where the method is
    not shown to be better than its baseline: then the baseline itself is as good."""
    if not (verdict.shown and verdict.better):
        return verdict
    as_good = [each for each in simpler if not _worse(each)]
    return replace(verdict, closest=min(as_good, key=_rank, default=None))


def _worse(simple: Closest) -> bool:
    """Whether it is shown to be worse than the method."""
    return simple.low > 0 if simple.lower_is_better else simple.high < 0


def _rank(simple: Closest) -> tuple[float, float]:
    gain = -simple.difference if simple.lower_is_better else simple.difference
    return -gain, inf if simple.tokens is None else simple.tokens
