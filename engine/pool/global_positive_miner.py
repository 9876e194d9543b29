"""Pairs of demonstrations from the whole table that a query's pool may have missed (spec Pool 3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.pool.top_k import similarities
from engine.pool.trajectory_quality_controller import is_positive
from engine.pool.vqa.evaluated_pairs import EvaluatedPair, Pair, PairAsker
from engine.pool.vqa.vqa import VQAAsk


class GlobalPositiveMiner:
    """Asks a query with pairs of the rows nearest to it, best-ranked first.

    `img_emb_data`: [N, d]. `search_top_k`: rows that pairs are made of; `max_eval_pairs`: most pairs;
    `batch_size`: pairs asked at once; `enough_positives`: stop after a batch when so many were fully right, 0 never.
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
        known: frozenset[Pair],
        checkpoint: Callable[[], None],
    ) -> list[EvaluatedPair]:
        """All pairs asked, right or wrong, in rank order. `nearest`: rows by falling similarity; `known`: pairs whose
        score the data hold already."""
        rows = nearest[: self.search_top_k]
        pairs = ranked_pairs(
            rows, similarities(self._table, rows, query_embedding), self.max_eval_pairs, known
        )
        found: list[EvaluatedPair] = []
        for first in range(0, len(pairs), self.batch_size):
            checkpoint()
            batch = [VQAAsk(query_id, pair) for pair in pairs[first : first + self.batch_size]]
            found += self._evaluator.evaluate(batch, checkpoint)
            positive = sum(one.score is not None and is_positive(one.score) for one in found)
            if self.enough_positives and positive >= self.enough_positives:
                break
        return found


def ranked_pairs(
    rows: Sequence[int], similarity: Sequence[float] | NDArray[np.float32], most: int, known: frozenset[Pair]
) -> list[Pair]:
    """The `most` pairs of `rows` with the largest sum of similarities that are not `known`; of equals those that stand
    first in `rows`. The more similar one comes last: next to the question."""
    # A pair with row r is outranked by the pairs of the first row with those before r: r - 1 of them.
    enough = min(len(rows), most + len(known) + 1)
    near, far = np.triu_indices(enough, 1)
    total = np.asarray(similarity, dtype=np.float64)[: len(rows)]
    order = np.argsort(-(total[near] + total[far]), kind="stable")
    places = zip(far[order].tolist(), near[order].tolist(), strict=True)
    found: list[Pair] = []
    for last, first in places:
        if len(found) == most:
            break
        pair = rows[last], rows[first]
        if pair not in known:
            found.append(pair)
    return found
