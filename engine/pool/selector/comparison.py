"""Compares methods on the same held-out queries: means, intervals, differences from RICES."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from engine.errors import DataError
from engine.events import SelectorCompared
from engine.pool.selector.heldout import RICES
from engine.pool.vqa.evaluated_pairs import EvaluatedPair
from engine.seeds import derive_seed
from engine.statistics import paired_bootstrap

Scored = Mapping[str, Sequence[EvaluatedPair]]
"""A method's evaluated pairs by query."""
Floats = NDArray[np.float64]


def compare(by_method: Mapping[str, Scored], run_seed: int) -> list[SelectorCompared]:
    """A row for each method, in order, over the queries for which the model answered every method's picks. Raises
    DataError without such a query."""
    table, left_out = _common(by_method)
    accuracy = {method: _means(rows) for method, rows in table.items()}
    seed = derive_seed(run_seed, "selector", "bootstrap")
    return [_row(method, rows, accuracy, left_out, seed) for method, rows in table.items()]


def accuracies(by_method: Mapping[str, Scored]) -> dict[str, Floats]:
    """Each method's VQA accuracy of the queries that `compare` compares, in one order. Raises as it does."""
    return {method: _means(rows) for method, rows in _common(by_method)[0].items()}


def _common(by_method: Mapping[str, Scored]) -> tuple[dict[str, list[Sequence[EvaluatedPair]]], int]:
    """The pairs of the queries with an answer for every method, and how many other queries there are."""
    methods = by_method.values()
    names = list(dict.fromkeys(name for scored in methods for name in scored))
    common = [name for name in names if all(_is_answered(scored.get(name, ())) for scored in methods)]
    if not common:
        answered = {method: sum(map(_is_answered, scored.values())) for method, scored in by_method.items()}
        counts = ", ".join(f"{method} {count} of {len(names)}" for method, count in answered.items())
        what = f"no held-out query was answered for every method: {counts}"
        raise DataError(what=what, where="pool.vqa", hint="see the errors in pool/evaluated.jsonl")
    table = {method: [scored[name] for name in common] for method, scored in by_method.items()}
    return table, len(names) - len(common)


def _is_answered(pairs: Sequence[EvaluatedPair]) -> bool:
    return bool(pairs) and all(pair.score is not None for pair in pairs)


def _means(rows: Sequence[Sequence[EvaluatedPair]]) -> Floats:
    return np.array([np.mean([pair.score or 0.0 for pair in pairs]) for pairs in rows], dtype=np.float64)


def _row(
    method: str,
    rows: Sequence[Sequence[EvaluatedPair]],
    accuracy: Mapping[str, Floats],
    failed: int,
    seed: int,
) -> SelectorCompared:
    scores = accuracy[method]
    interval = paired_bootstrap(scores, np.zeros_like(scores), seed)
    row = SelectorCompared(
        method=method,
        n=len(scores),
        accuracy=interval.difference,
        low=interval.low,
        high=interval.high,
        asked=sum(map(len, rows)),
        failed=failed,
    )
    if method == RICES or RICES not in accuracy:
        return row
    against = paired_bootstrap(scores, accuracy[RICES], seed)
    difference = {f"difference_{end}": getattr(against, end) for end in ("low", "high")}
    return msgspec.structs.replace(row, difference=against.difference, **difference)
