"""Picks of similarity, chance, the selector and an oracle for held-out queries, and their scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from engine.pool.data.dataset import PoolDataset
from engine.pool.data.records import RLQueryData
from engine.pool.global_positive_miner import ranked_pairs
from engine.pool.selector.rl_beam_dataset import RLBeamDatasetWithEmbedding
from engine.pool.selector.selector import Selector, best_pairs
from engine.pool.top_k import similarities
from engine.pool.trajectory_quality_controller import is_positive
from engine.pool.vqa.evaluated_pairs import EvaluatedPair, PairEvaluator, RowPair
from engine.pool.vqa.vqa import VQAAsk
from engine.seeds import generator

RANDOM, RICES, SELECTOR, ORACLE = "random", "rices", "selector", "oracle"
_FIRST_ROUND = 8
_AT_ONCE = 64
"""Queries in a batch of the selector."""


@dataclass(frozen=True)
class MethodPicks:
    """A method's pairs of rows by query, best first; `probability`: of the first pair."""

    method: str
    pairs: Mapping[str, Sequence[RowPair]]
    probability: Mapping[str, float]


class HeldOut:
    """Picks and scores of every method; the model is asked through `evaluator`, with no pair twice.

    RICES (Yang et al. 2022) picks the two candidates most similar to the query, the more similar next to the question.
    The oracle picks the best evaluated pair, of all methods and of pairs by falling similarity, until a pair is fully
    right or `oracle_pairs` were asked; so it is a lower bound of the best pair.
    """

    def __init__(
        self,
        queries: Mapping[str, RLQueryData],
        dataset: PoolDataset,
        evaluator: PairEvaluator,
        run_seed: int,
        checkpoint: Callable[[], None],
    ) -> None:
        self.queries = queries
        self._dataset = dataset
        self._evaluator = evaluator
        self._seed = run_seed
        self._checkpoint = checkpoint
        self._items = RLBeamDatasetWithEmbedding(
            queries, dataset.embeddings, query_embedding=dataset.query_embedding
        )

    # ------------------------------------------------------------ methods

    def rices(self) -> MethodPicks:
        """The two most similar candidates of each query."""
        return MethodPicks(RICES, {name: self._ranked(name, 1) for name in self.queries}, {})

    def random(self, count: int) -> MethodPicks:
        """`count` ordered pairs for each query, drawn evenly."""
        drawn: dict[str, Sequence[RowPair]] = {}
        for name, query in self.queries.items():
            draws = generator(self._seed, "selector", f"random {name}")
            pool = query.candidate_pool_indices
            places = [draws.choice(len(pool), 2, replace=False).tolist() for _ in range(count)]
            drawn[name] = [(pool[first], pool[last]) for first, last in places]
        return MethodPicks(RANDOM, drawn, {})

    @torch.no_grad()
    def selector(self, selector: Selector) -> MethodPicks:
        """The selector's likeliest pair for each query."""
        pairs: dict[str, Sequence[RowPair]] = {}
        probability: dict[str, float] = {}
        for first in range(0, len(self._items), _AT_ONCE):
            self._checkpoint()
            batch = self._items.batch(range(first, min(first + _AT_ONCE, len(self._items))))
            log_probabilities = selector(batch.query_emb, batch.cand_emb)
            likeliest = log_probabilities.flatten(1).max(dim=1).values.exp().tolist()
            rows = batch.pools.gather(1, best_pairs(log_probabilities)).tolist()
            for name, (row, last_row), chance in zip(batch.query_ids, rows, likeliest, strict=True):
                pairs[name], probability[name] = [(row, last_row)], chance
        return MethodPicks(SELECTOR, pairs, probability)

    def oracle(self, most: int) -> MethodPicks:
        """The best evaluated pair of each query, after evaluating at most `most` more."""
        asked, size = 0, _FIRST_ROUND
        open_queries = [name for name in self.queries if not self._is_solved(name)]
        ranked = {name: self._ranked(name, most) for name in open_queries}
        while open_queries and asked < most:
            asks = [
                VQAAsk(name, pair) for name in open_queries for pair in ranked[name][asked : asked + size]
            ]
            self.evaluate(asks)
            asked, size = asked + size, 2 * size
            open_queries = [
                name for name in open_queries if not self._is_solved(name) and asked < len(ranked[name])
            ]
        best = {name: self._best(name) for name in self.queries}
        return MethodPicks(ORACLE, {name: [pair.pair] for name, pair in best.items() if pair is not None}, {})

    # ------------------------------------------------------------ scores

    def evaluate(self, asks: Sequence[VQAAsk]) -> list[EvaluatedPair]:
        """The evaluation of each ask."""
        self._checkpoint()
        return self._evaluator.evaluate(asks, self._checkpoint)

    def scored(self, picked: MethodPicks) -> dict[str, list[EvaluatedPair]]:
        """The evaluation of each pick, by query."""
        asks = [VQAAsk(name, pair) for name, pairs in picked.pairs.items() for pair in pairs]
        replies = iter(self.evaluate(asks))
        return {name: [next(replies) for _ in pairs] for name, pairs in picked.pairs.items()}

    def _ranked(self, name: str, most: int) -> list[RowPair]:
        """Pairs of the pool by falling similarity, each with the more similar row second."""
        pool = np.asarray(self.queries[name].candidate_pool_indices)
        similarity = similarities(
            self._dataset.embeddings, pool.tolist(), self._dataset.query_embedding(name)
        )
        order = np.argsort(-similarity, kind="stable")
        return ranked_pairs(pool[order].tolist(), similarity[order], most, frozenset())

    def _known(self, name: str) -> list[EvaluatedPair]:
        """Scored pairs of the pool."""
        pool = set(self.queries[name].candidate_pool_indices)
        known = self._evaluator.known(name).values()
        return [pair for pair in known if pair.score is not None and pool.issuperset(pair.pair)]

    def _is_solved(self, name: str) -> bool:
        return any(is_positive(pair.score or 0.0) for pair in self._known(name))

    def _best(self, name: str) -> EvaluatedPair | None:
        """The pair with the best score; of equal scores the first by row numbers."""
        return min(self._known(name), key=lambda pair: (-(pair.score or 0.0), pair.pair), default=None)
