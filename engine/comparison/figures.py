"""The figures of a method in two runs, over the items that both have: paired, because the items are the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.comparison.items import Item

CELLS = ("both right", "only A right", "only B right", "neither right")
"""The four kinds of items, in the order of the 2×2."""
_KINDS = ((True, True), (True, False), (False, True), (False, False))

Pair = tuple[Item, Item]


@dataclass(frozen=True)
class Figures:
    """B against A over `n` pairs. `difference` is mean score of B minus that of A, with its paired bootstrap 95%
    interval; `p` is McNemar's exact two-sided one of the `cells`. Means of tokens over the pairs that have them.
    None where no pair was judged."""

    n: int
    mean_a: float | None = None
    mean_b: float | None = None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    cells: tuple[int, ...] | None = None
    tokens_a: float | None = None
    tokens_b: float | None = None


def cell(a: Item, b: Item) -> int | None:
    """The place of a pair in `CELLS`; None if one of them is neither right nor wrong."""
    return None if a.right is None or b.right is None else _KINDS.index((a.right, b.right))


def figures(pairs: Sequence[Pair], seed: int) -> Figures:
    """The figures of a method. Pairs of which an item was not judged are left out."""
    from engine.seeds import derive_seed  # numpy: too slow for the console's start
    from engine.statistics import mcnemar, paired_bootstrap

    judged = [(a, b) for a, b in pairs if a.score is not None and b.score is not None]
    if not judged:
        return Figures(0)
    first, second = [a.score or 0.0 for a, _ in judged], [b.score or 0.0 for _, b in judged]
    score = paired_bootstrap(second, first, derive_seed(seed, "comparison", "score"))
    right = [(bool(a.right), bool(b.right)) for a, b in judged if cell(a, b) is not None]
    tokens = [(a.tokens, b.tokens) for a, b in judged if a.tokens is not None and b.tokens is not None]
    return Figures(
        n=len(judged),
        mean_a=_mean(first),
        mean_b=_mean(second),
        difference=score.difference,
        low=score.low,
        high=score.high,
        p=mcnemar([b for _, b in right], [a for a, _ in right]) if right else None,
        cells=tuple(map(right.count, _KINDS)) if right else None,
        tokens_a=_mean([a for a, _ in tokens]),
        tokens_b=_mean([b for _, b in tokens]),
    )


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
