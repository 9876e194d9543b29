"""Picks of similarity, chance and the selector for held-out queries, and their scores."""

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
from engine.pool.vqa.evaluated_pairs import EvaluatedPair, PairEvaluator, RowPair
from engine.pool.vqa.vqa import VQAAsk
from engine.seeds import generator

RANDOM, RICES, SELECTOR = "random", "rices", "selector"
_AT_ONCE = 64
"""Queries in a batch of the selector."""


@dataclass(frozen=True)
class MethodPicks:
    """A method's pairs of rows by query, best first; `probability`: of the first pair."""

    method: str
    pairs: Mapping[str, Sequence[RowPair]]
    probability: Mapping[str, float]


@dataclass
class HeldOut:
    """Picks and scores of every method; the model is asked through `evaluator`, with no pair twice.

    RICES (Yang et al. 2022) picks the two candidates most similar to the query, the more similar next to the question.
    """

    queries: Mapping[str, RLQueryData]
    dataset: PoolDataset
    evaluator: PairEvaluator
    run_seed: int
    checkpoint: Callable[[], None]

    def __post_init__(self) -> None:
        self._items = RLBeamDatasetWithEmbedding(
            self.queries, self.dataset.embeddings, query_embedding=self.dataset.query_embedding
        )

    # ------------------------------------------------------------ methods

    def rices(self) -> MethodPicks:
        """The two most similar candidates of each query."""
        return MethodPicks(RICES, {name: self._ranked(name, 1) for name in self.queries}, {})

    def random(self, count: int) -> MethodPicks:
        """`count` ordered pairs for each query, drawn evenly."""
        drawn: dict[str, Sequence[RowPair]] = {}
        for name, query in self.queries.items():
            draws = generator(self.run_seed, "selector", f"random {name}")
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
            self.checkpoint()
            batch = self._items.batch(range(first, min(first + _AT_ONCE, len(self._items))))
            log_probabilities = selector(batch.query_emb, batch.cand_emb)
            likeliest = log_probabilities.flatten(1).max(dim=1).values.exp().tolist()
            rows = batch.pools.gather(1, best_pairs(log_probabilities)).tolist()
            for name, (row, last_row), chance in zip(batch.query_ids, rows, likeliest, strict=True):
                pairs[name], probability[name] = [(row, last_row)], chance
        return MethodPicks(SELECTOR, pairs, probability)

    # ------------------------------------------------------------ scores

    def evaluate(self, asks: Sequence[VQAAsk]) -> list[EvaluatedPair]:
        """The evaluation of each ask."""
        self.checkpoint()
        return self.evaluator.evaluate(asks, self.checkpoint)

    def scored(self, picked: MethodPicks) -> dict[str, list[EvaluatedPair]]:
        """The evaluation of each pick, by query."""
        asks = [VQAAsk(name, pair) for name, pairs in picked.pairs.items() for pair in pairs]
        replies = iter(self.evaluate(asks))
        return {name: [next(replies) for _ in pairs] for name, pairs in picked.pairs.items()}

    def _ranked(self, name: str, most: int) -> list[RowPair]:
        """Pairs of the pool by falling similarity, each with the more similar row second."""
        pool = np.asarray(self.queries[name].candidate_pool_indices)
        similarity = similarities(self.dataset.embeddings, pool.tolist(), self.dataset.query_embedding(name))
        order = np.argsort(-similarity, kind="stable")
        return ranked_pairs(pool[order].tolist(), similarity[order], most, frozenset())
