"""The methods beside each other on the same held-out queries: means, intervals, differences from RICES."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from engine.errors import DataError
from engine.events import SelectorCompared
from engine.pool.selector.heldout import RICES
from engine.pool.trajectory_quality_controller import is_positive
from engine.pool.vqa.evaluated_pairs import EvaluatedPair
from engine.seeds import derive_seed
from engine.statistics import mcnemar, paired_bootstrap
from engine.wilson import wilson

Scored = Mapping[str, Sequence[EvaluatedPair]]
"""A method's pairs by query."""
Floats = NDArray[np.float64]


def compare(found: Mapping[str, Scored], run_seed: int) -> list[SelectorCompared]:
    """One row a method, in order. A query counts only where every method's picks were answered, so that all speak of
    the same ones. Raises DataError where no query is left."""
    names = list(dict.fromkeys(name for scored in found.values() for name in scored))
    common = [name for name in names if all(_is_answered(scored.get(name, ())) for scored in found.values())]
    if not common:
        raise DataError(
            what="the model answered no held-out query",
            where="pool.vqa",
            mend="see the errors in pool/evaluated.jsonl",
        )
    table = {method: [scored[name] for name in common] for method, scored in found.items()}
    accuracy = {method: _means(rows) for method, rows in table.items()}
    seed = derive_seed(run_seed, "selector", "bootstrap")
    return [_row(method, rows, accuracy, len(names) - len(common), seed) for method, rows in table.items()]


def _is_answered(found: Sequence[EvaluatedPair]) -> bool:
    return bool(found) and all(one.score is not None for one in found)


def _means(rows: Sequence[Sequence[EvaluatedPair]]) -> Floats:
    return np.array([np.mean([one.score or 0.0 for one in found]) for found in rows], dtype=np.float64)


def _row(
    method: str,
    rows: Sequence[Sequence[EvaluatedPair]],
    accuracy: Mapping[str, Floats],
    failed: int,
    seed: int,
) -> SelectorCompared:
    own = accuracy[method]
    interval = paired_bootstrap(own, np.zeros_like(own), seed)
    asked = [one for found in rows for one in found]
    right = sum(is_positive(one.score or 0.0) for one in asked)
    low, high = wilson(right, len(asked))
    row = SelectorCompared(
        method=method,
        n=len(own),
        accuracy=interval.difference,
        low=interval.low,
        high=interval.high,
        positive=right / len(asked),
        positive_low=low,
        positive_high=high,
        asked=len(asked),
        failed=failed,
    )
    if method == RICES or RICES not in accuracy:
        return row
    against = paired_bootstrap(own, accuracy[RICES], seed)
    # Several draws a query are no single right or wrong.
    p = None if len(asked) > len(own) else mcnemar(_right(own), _right(accuracy[RICES]))
    return msgspec.structs.replace(
        row,
        difference=against.difference,
        difference_low=against.low,
        difference_high=against.high,
        p=p,
    )


def _right(accuracy: Floats) -> NDArray[np.bool_]:
    return np.array([is_positive(one) for one in accuracy.tolist()])
