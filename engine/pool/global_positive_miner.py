"""Searches the whole table for good pairs of demonstrations that a query's pool misses (spec Pool 3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.pool.top_k import similarities
from engine.pool.trajectory_quality_controller import is_positive
from engine.pool.vqa.evaluated_pairs import EvaluatedPair, PairAsker, RowPair
from engine.pool.vqa.vqa import VQAAsk


class GlobalPositiveMiner:
    """Evaluates pairs of a query's nearest rows, best-ranked pairs first.

    `img_emb_data`: [N, d]. `search_top_k`: number of rows to combine; `max_eval_pairs`: most pairs; `batch_size`: pairs
    at once; `enough_positives`: stop after the batch that reaches this many fully right pairs, 0 for never.
    """

    def __init__(
        self,
        img_emb_data: NDArray[Any],
        evaluator: PairAsker,
        search_top_k: int = 300,
        max_eval_pairs: int = 50,
        batch_size: int = 50,
        enough_positives: int = 0,
    ) -> None:
        self._table = img_emb_data
        self._evaluator = evaluator
        self.search_top_k = search_top_k
        self.max_eval_pairs = max_eval_pairs
        self.batch_size = batch_size
        self.enough_positives = enough_positives

    def mine_positives_for_query(
        self,
        query_id: str,
        query_embedding: NDArray[Any],
        nearest: Sequence[int],
        known: frozenset[RowPair],
        checkpoint: Callable[[], None],
    ) -> list[EvaluatedPair]:
        """All evaluated pairs, in rank order. `nearest`: rows by falling similarity; `known`: pairs with a score in the
        data, which are skipped."""
        rows = nearest[: self.search_top_k]
        pairs = ranked_pairs(
            rows, similarities(self._table, rows, query_embedding), self.max_eval_pairs, known
        )
        evaluated: list[EvaluatedPair] = []
        for first in range(0, len(pairs), self.batch_size):
            checkpoint()
            batch = [VQAAsk(query_id, pair) for pair in pairs[first : first + self.batch_size]]
            evaluated += self._evaluator.evaluate(batch, checkpoint)
            positive = sum(pair.score is not None and is_positive(pair.score) for pair in evaluated)
            if self.enough_positives and positive >= self.enough_positives:
                break
        return evaluated


def ranked_pairs(
    rows: Sequence[int],
    similarity: Sequence[float] | NDArray[np.float32],
    most: int,
    known: frozenset[RowPair],
) -> list[RowPair]:
    """The `most` unknown pairs of `rows` with the largest sums of similarities; of equal sums the first in `rows`. The
    more similar row comes second, next to the question."""
    # The pairs of the first row with those before row r outrank every pair with row r: r - 1 pairs.
    enough = min(len(rows), most + len(known) + 1)
    near, far = np.triu_indices(enough, 1)
    total = np.asarray(similarity, dtype=np.float64)[: len(rows)]
    order = np.argsort(-(total[near] + total[far]), kind="stable")
    places = zip(far[order].tolist(), near[order].tolist(), strict=True)
    pairs: list[RowPair] = []
    for last, first in places:
        if len(pairs) == most:
            break
        pair = rows[last], rows[first]
        if pair not in known:
            pairs.append(pair)
    return pairs
