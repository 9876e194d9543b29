"""Two modes on the same conversations: difference with its interval, and McNemar's test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from engine.events import ConversationAnswered
from engine.slsm.judges.scoring import both_judged
from engine.statistics import macro_bootstrap, mcnemar


def compared_pairs(
    answers: Mapping[tuple[str, str], Sequence[ConversationAnswered]], seed: int
) -> list[dict[str, object]]:
    """A row for each pair of variants, over the conversations that are judged under both. `difference`: second minus
    first, as macro mean over axes; `first_only`, `second_only`: conversations that pass under one alone; `p`: exact
    McNemar."""
    rows: list[dict[str, object]] = []
    for first, second in combinations(answers, 2):
        axes = both_judged(answers[first], answers[second]).values()
        if not axes:
            continue
        both = [pair for axis in axes for pair in axis]
        a, b = [one for one, _ in both], [two for _, two in both]
        difference = macro_bootstrap([[two - one for one, two in axis] for axis in axes], seed)
        rows.append(
            {
                "first": " ".join(first),
                "second": " ".join(second),
                "n": len(both),
                "first_passes": int(sum(a)),
                "second_passes": int(sum(b)),
                "first_only": sum(x > y for x, y in zip(a, b, strict=True)),
                "second_only": sum(x < y for x, y in zip(a, b, strict=True)),
                "difference": round(difference.difference, 6),
                "low": round(difference.low, 6),
                "high": round(difference.high, 6),
                "p": mcnemar(a, b),
            }
        )
    return rows
