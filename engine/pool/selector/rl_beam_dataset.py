"""Normalised RL data as a torch data set, for the selector's training (spec Pool, component 2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import Dataset

from engine.errors import DataError
from engine.pool.data.records import (
    POOL_NAMES,
    POOL_SIZE,
    OutOfRangeError,
    PoolSizeError,
    RLQueryData,
    check_row,
    parse_query,
)
from engine.pool.top_k import as_array

_HINT = "run the stage pool again: it makes every pool the same size and its pointers fit"


@dataclass(frozen=True)
class BeamBatch:
    """A batch of queries with K candidates and up to T trajectories each.

    `query_emb` [B, d]; `cand_emb` [B, K, d]; `beam_labels` [B, T, 2] local places; `beam_scores` [B, T]; `beam_mask`
    [B, T] is false, and labels are 0, beyond a query's trajectories; `pools` [B, K]: rows of the table.
    """

    query_ids: list[str]
    pools: Tensor
    query_emb: Tensor
    cand_emb: Tensor
    beam_labels: Tensor
    beam_scores: Tensor
    beam_mask: Tensor


class RLBeamDatasetWithEmbedding(Dataset[dict[str, Any]]):
    """Items in the order of `rl_data`: `query_id` as it came, `query_emb` [d], `cand_emb` [K, d],
    `candidate_pool_indices` [K], `beam_labels` [T, 2] and `beam_scores` [T]. Unscored trajectories are left out."""

    def __init__(
        self,
        rl_data: Mapping[Any, RLQueryData | Mapping[str, Any]],
        img_emb_data: NDArray[Any] | Tensor,
        expected_pool_size: int = POOL_SIZE,
        query_embedding: Callable[[str], NDArray[Any]] = lambda query_id: np.empty(0),
    ) -> None:
        """`rl_data`: queries, or their records as in the file, whose notes (`_…`) are left out; `img_emb_data`: [N, d],
        may be memory-mapped; rows are read on demand. `query_embedding`: [d], of a query's id; without it `query_emb`
        has width 0. Raises PoolSizeError for a pool of another size, OutOfRangeError for a pointer out of the pool or a
        row that the table lacks, DataError for other faults."""
        self._table = img_emb_data
        self._query_embedding = query_embedding
        queries = {key: query for key, query in rl_data.items() if not str(key).startswith("_")}
        for key, query in queries.items():
            _check_size(key, query, expected_pool_size)
        self._data = [
            query if isinstance(query, RLQueryData) else parse_query(_id(key), dict(query), "rl_data")
            for key, query in queries.items()
        ]
        for query in self._data:
            _check(query, len(img_emb_data))

    def __len__(self) -> int:
        return len(self._data)

    @property
    def width(self) -> int:
        """Width d of the embeddings."""
        return int(self._table.shape[1])

    def __getitem__(self, index: int) -> dict[str, Any]:
        query = self._data[index]
        pool = query.candidate_pool_indices
        scored = [trajectory for trajectory in query.pointer_candidates if not trajectory.failed]
        return {
            "query_id": query.query_id,
            "query_emb": _floats(self._query_embedding(query.name), query.name, "its embedding"),
            "cand_emb": _floats(self._table[pool], query.name, "a candidate's embedding"),
            "candidate_pool_indices": torch.tensor(pool),
            "beam_labels": torch.tensor(
                [trajectory.pointer for trajectory in scored], dtype=torch.long
            ).reshape(-1, 2),
            "beam_scores": torch.tensor(
                [trajectory.vqa_acc_score for trajectory in scored], dtype=torch.float32
            ),
        }

    def batch(self, indices: Iterable[int]) -> BeamBatch:
        """A batch of these items."""
        return collate([self[index] for index in indices])


def collate(items: Sequence[dict[str, Any]]) -> BeamBatch:
    """A batch of items; also for a torch DataLoader."""
    counts = torch.tensor([len(item["beam_scores"]) for item in items])
    mask = torch.arange(int(counts.max())) < counts[:, None]
    labels, scores = torch.zeros(*mask.shape, 2, dtype=torch.long), torch.zeros(mask.shape)
    labels[mask] = torch.cat([item["beam_labels"] for item in items])
    scores[mask] = torch.cat([item["beam_scores"] for item in items])
    return BeamBatch(
        query_ids=[str(item["query_id"]) for item in items],
        pools=torch.stack([item["candidate_pool_indices"] for item in items]),
        query_emb=torch.stack([item["query_emb"] for item in items]),
        cand_emb=torch.stack([item["cand_emb"] for item in items]),
        beam_labels=labels,
        beam_scores=scores,
        beam_mask=mask,
    )


def _id(key: object) -> int | str:
    """A key as an id: integers stay integers."""
    return int(key) if isinstance(key, int | np.integer) else str(key)


def _check_size(key: object, query: RLQueryData | Mapping[str, Any], expected_pool_size: int) -> None:
    """The first check. A pool that is no list is left to the others."""
    fields = {POOL_NAMES[0]: query.candidate_pool_indices} if isinstance(query, RLQueryData) else query
    pool = next((fields[name] for name in POOL_NAMES if name in fields), [])
    if isinstance(pool, list) and len(pool) != expected_pool_size:
        what = f"its pool has {len(pool)} candidates, not {expected_pool_size}"
        raise PoolSizeError(what=what, where=f"query {key}", hint=_HINT)


def _check(query: RLQueryData, table_size: int) -> None:
    where, pool = f"query {query.query_id}", query.candidate_pool_indices
    for place, row in enumerate(pool):
        check_row(row, f"candidate {place}", table_size, where)
    for number, trajectory in enumerate(query.pointer_candidates):
        if not all(0 <= place < len(pool) for place in trajectory.pointer):
            raise OutOfRangeError(
                what=f"pointer {trajectory.pointer} leaves the pool of {len(pool)}",
                where=f"{where}, trajectory {number} ({trajectory.gen_method})",
                hint=_HINT,
            )


def _floats(values: NDArray[Any] | Tensor, query_id: str, what: str) -> Tensor:
    floats = torch.as_tensor(as_array(values)).float()
    if not bool(torch.isfinite(floats).all()):
        raise DataError(
            what=f"{what} is not finite", where=f"query {query_id}", hint="correct the embedding table"
        )
    return floats
