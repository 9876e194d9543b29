"""Searches the whole table for good pairs of demonstrations (spec Pool 3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from engine.pool.data.dataset import PoolDataset
from engine.pool.top_k import as_array, similarities, top_k
from engine.pool.trajectory_quality_controller import is_partial, is_positive
from engine.pool.vqa.evaluated_pairs import EvaluatedPair, PairEvaluator, RowPair
from engine.pool.vqa.vqa import VQAAsk, VQAModel


class GlobalPositiveMiner:
    """Evaluates pairs of a query's nearest rows, best-ranked pairs first, no pair twice.

    `img_emb_data`: [N, d], also a Tensor; `vqa_interface`: the model that answers; `dataset`: the queries.
    `search_top_k`: number of rows to combine; `max_eval_pairs`: most pairs; `batch_size`: pairs at once; `evaluator`:
    asks the model, and knows what was asked.
    """

    def __init__(
        self,
        img_emb_data: ArrayLike | Tensor,
        vqa_interface: VQAModel,
        dataset: PoolDataset,
        search_top_k: int = 300,
        max_eval_pairs: int = 50,
        *,
        batch_size: int = 50,
        evaluator: PairEvaluator | None = None,
    ) -> None:
        self._table = as_array(img_emb_data)
        self._dataset = dataset
        self._evaluator = evaluator or PairEvaluator(None, vqa_interface, dataset.annotations)
        self.search_top_k = search_top_k
        self.max_eval_pairs = max_eval_pairs
        self.batch_size = batch_size

    def mine_positives_for_query(
        self, query_id: int | str, current_pool_indices: Sequence[int]
    ) -> list[dict[str, Any]]:
        """The pairs with a score above 0, as `{"global_indices": [first, second], "acc_score": score}`: by falling
        score, and of equal scores those first that bring fewer rows to the current pool."""
        name = str(query_id)
        query_rows = set(self._dataset.excluded(name))
        query = np.asarray(self._dataset.query_embedding(name), dtype=np.float32)[None]
        most = min(len(self._table), self.search_top_k + len(query_rows))
        nearest = [row for row in top_k(self._table, query, most).of(0) if row not in query_rows]
        mined = by_worth(self.evaluate_pairs(name, nearest), current_pool_indices)
        return [
            {"global_indices": list(pair), "acc_score": score}
            for pair, score in mined
            if is_positive(score) or is_partial(score)
        ]

    def evaluate_pairs(
        self,
        query_id: str,
        nearest: Sequence[int],
        known: frozenset[RowPair] = frozenset(),
        checkpoint: Callable[[], None] = lambda: None,
    ) -> list[EvaluatedPair]:
        """All evaluated pairs, in rank order. `nearest`: rows by falling similarity; `known`: pairs with a score in the
        data, which are skipped."""
        rows = nearest[: self.search_top_k]
        similarity = similarities(self._table, rows, self._dataset.query_embedding(query_id))
        pairs = ranked_pairs(rows, similarity, self.max_eval_pairs, known)
        evaluated: list[EvaluatedPair] = []
        for first in range(0, len(pairs), self.batch_size):
            checkpoint()
            batch = [VQAAsk(query_id, pair) for pair in pairs[first : first + self.batch_size]]
            evaluated += self._evaluator.evaluate(batch, checkpoint)
        return evaluated


def by_worth(mined: Iterable[EvaluatedPair], pool: Iterable[int]) -> list[tuple[RowPair, float]]:
    """Scored pairs by falling score; of equal scores by fewer rows outside the pool, then in order."""
    inside = set(pool)
    scored = [(one.pair, one.score) for one in mined if one.score is not None]
    return sorted(scored, key=lambda item: (-item[1], len(set(item[0]) - inside)))


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
