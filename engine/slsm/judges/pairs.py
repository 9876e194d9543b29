"""Two modes on the same conversations: difference with its interval, and McNemar's test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from engine.events import ConversationAnswered
from engine.slsm.judges.scoring import outcomes_of
from engine.statistics import macro_bootstrap, mcnemar


def compared_pairs(
    answers: Mapping[tuple[str, str], Sequence[ConversationAnswered]], seed: int
) -> list[dict[str, object]]:
    """A row for each pair of variants, over the conversations that are judged under both. `difference`: second minus
    first, as macro mean over axes; `first_only`, `second_only`: conversations that pass under one alone; `p`: exact
    McNemar."""
    rows: list[dict[str, object]] = []
    for first, second in combinations(answers, 2):
        one, two = outcomes_of(answers[first]), outcomes_of(answers[second])
        both = [key for key in one if one[key].passed is not None and two[key].passed is not None]
        if not both:
            continue
        a, b = ([float(bool(found[key].passed)) for key in both] for found in (one, two))
        deltas: dict[str, list[float]] = {}
        for key, before, after in zip(both, a, b, strict=True):
            deltas.setdefault(one[key].axis, []).append(after - before)
        difference = macro_bootstrap(list(deltas.values()), seed)
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
