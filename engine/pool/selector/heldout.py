"""Held-out queries: what similarity, chance, the selector and an oracle pick for them, and how right that is."""

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
from engine.pool.vqa.evaluated_pairs import EvaluatedPair, Pair, PairEvaluator
from engine.pool.vqa.vqa import VQAAsk
from engine.seeds import generator

RANDOM, RICES, SELECTOR, ORACLE = "random", "rices", "selector", "oracle"
_FIRST_ROUND = 8
_AT_ONCE = 64
"""Queries the selector picks for side by side."""


@dataclass(frozen=True)
class Picked:
    """A method's pairs of rows by query, best first where there are several; `probability`: of the first."""

    method: str
    pairs: Mapping[str, Sequence[Pair]]
    probability: Mapping[str, float]


class HeldOut:
    """Pools, and the model that is asked through `evaluator`; no pair twice.

    RICES (Yang et al. 2022) takes the two candidates most similar to the query, the more similar one next to the
    question. The oracle takes the best pair that is known: those of all methods, and pairs by falling similarity until
    one is fully right or `oracle_pairs` were asked; so it is a lower bound of the best there is.
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
        self._items = RLBeamDatasetWithEmbedding(queries, dataset.embeddings, dataset)

    # ------------------------------------------------------------ methods

    def rices(self) -> Picked:
        """One pair a query."""
        return Picked(RICES, {name: self._ranked(name, 1) for name in self.queries}, {})

    def random(self, count: int) -> Picked:
        """`count` ordered pairs a query, drawn evenly."""
        found: dict[str, Sequence[Pair]] = {}
        for name, query in self.queries.items():
            draws = generator(self._seed, "selector", f"random {name}")
            pool = query.candidate_pool_indices
            places = [draws.choice(len(pool), 2, replace=False).tolist() for _ in range(count)]
            found[name] = [(pool[first], pool[last]) for first, last in places]
        return Picked(RANDOM, found, {})

    @torch.no_grad()
    def selector(self, selector: Selector) -> Picked:
        """Its likeliest pair a query."""
        pairs: dict[str, Sequence[Pair]] = {}
        probability: dict[str, float] = {}
        for first in range(0, len(self._items), _AT_ONCE):
            self._checkpoint()
            batch = self._items.batch(range(first, min(first + _AT_ONCE, len(self._items))))
            found = selector(batch.query_emb, batch.cand_emb)
            likeliest = found.flatten(1).max(dim=1).values.exp().tolist()
            rows = batch.pools.gather(1, best_pairs(found)).tolist()
            for name, (one, two), chance in zip(batch.query_ids, rows, likeliest, strict=True):
                pairs[name], probability[name] = [(one, two)], chance
        return Picked(SELECTOR, pairs, probability)

    def oracle(self, most: int) -> Picked:
        """The best known pair a query, after at most `most` more were asked."""
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
        return Picked(ORACLE, {name: [one.pair] for name, one in best.items() if one is not None}, {})

    # ------------------------------------------------------------ scores

    def evaluate(self, asks: Sequence[VQAAsk]) -> list[EvaluatedPair]:
        """One each."""
        self._checkpoint()
        return self._evaluator.evaluate(asks, self._checkpoint)

    def scored(self, picked: Picked) -> dict[str, list[EvaluatedPair]]:
        """By query, for each of its pairs."""
        asks = [VQAAsk(name, pair) for name, pairs in picked.pairs.items() for pair in pairs]
        replies = iter(self.evaluate(asks))
        return {name: [next(replies) for _ in pairs] for name, pairs in picked.pairs.items()}

    def _ranked(self, name: str, most: int) -> list[Pair]:
        """Pairs of the pool by falling similarity, the more similar one last."""
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
        return [one for one in known if one.score is not None and pool.issuperset(one.pair)]

    def _is_solved(self, name: str) -> bool:
        return any(is_positive(one.score or 0.0) for one in self._known(name))

    def _best(self, name: str) -> EvaluatedPair | None:
        """Of equals the first in order of rows, whenever they were asked."""
        found = sorted(self._known(name), key=lambda one: (-(one.score or 0.0), one.pair))
        return found[0] if found else None
