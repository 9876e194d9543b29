"""Which items of two runs are the same: those with the same id that ask the same."""

from __future__ import annotations

from dataclasses import dataclass

from engine.comparison.figures import Pair
from engine.comparison.items import Arm


@dataclass(frozen=True)
class Paired:
    """The `pairs` of an arm in two runs, in the order of A. `only_a`, `only_b`: items that one run alone has;
    `other_question`: ids under which the runs asked something else; `unjudged`: pairs without a score."""

    pairs: list[Pair]
    only_a: int
    only_b: int
    other_question: int
    unjudged: int


def pair_items(a: Arm, b: Arm) -> Paired:
    """Pair the items of an arm in two runs."""
    shared = [(item, b.items[name]) for name, item in a.items.items() if name in b.items]
    pairs = [(first, second) for first, second in shared if first.asked == second.asked]
    return Paired(
        pairs=pairs,
        only_a=len(a.items) - len(shared),
        only_b=len(b.items) - len(shared),
        other_question=len(shared) - len(pairs),
        unjudged=sum(first.score is None or second.score is None for first, second in pairs),
    )
