"""The figures of a method in two runs, over the items that both have: paired, because the items are the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engine.comparison.items import Item

if TYPE_CHECKING:
    from engine.statistics import Interval

CELLS = ("both right", "only A right", "only B right", "neither right")
"""The four kinds of items, in the order of the 2×2."""
_KINDS = ((True, True), (True, False), (False, True), (False, False))

Pair = tuple[Item, Item]


@dataclass(frozen=True)
class Figures:
    """B against A over `n` pairs. `difference` is mean score of B minus that of A, with its paired bootstrap 95%
    interval; `p` is McNemar's exact two-sided one of the `cells`. Means of tokens over the pairs that have them, with
    the interval of their difference. None where no pair was judged."""

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
    tokens_low: float | None = None
    tokens_high: float | None = None


def cell(a: Item, b: Item) -> int | None:
    """The place of a pair in `CELLS`; None if one of them is neither right nor wrong."""
    return None if a.right is None or b.right is None else _KINDS.index((a.right, b.right))


def figures(pairs: Sequence[Pair], seed: int) -> Figures:
    """The figures of a method. Pairs of which an item was not judged are left out."""
    from engine.seeds import derive_seed  # numpy: too slow for the console's start
    from engine.statistics import mcnemar, paired_bootstrap

    def beside(name: str, values: Sequence[tuple[float, float]]) -> tuple[float, float, Interval]:
        first, second = zip(*values, strict=True)
        interval = paired_bootstrap(second, first, derive_seed(seed, "comparison", name))
        return sum(first) / len(first), sum(second) / len(second), interval

    judged = [(a, b) for a, b in pairs if a.score is not None and b.score is not None]
    if not judged:
        return Figures(0)
    mean_a, mean_b, score = beside("score", [(a.score or 0.0, b.score or 0.0) for a, b in judged])
    right = [(bool(a.right), bool(b.right)) for a, b in judged if cell(a, b) is not None]
    known = Figures(
        n=len(judged),
        mean_a=mean_a,
        mean_b=mean_b,
        difference=score.difference,
        low=score.low,
        high=score.high,
        p=mcnemar([b for _, b in right], [a for a, _ in right]) if right else None,
        cells=tuple(map(right.count, _KINDS)) if right else None,
    )
    counted = [(a.tokens, b.tokens) for a, b in judged if a.tokens is not None and b.tokens is not None]
    if not counted:
        return known
    tokens_a, tokens_b, tokens = beside("tokens", counted)
    return replace(
        known, tokens_a=tokens_a, tokens_b=tokens_b, tokens_low=tokens.low, tokens_high=tokens.high
    )
