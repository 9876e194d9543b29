"""Replaces a pool's least similar candidates by new ones (spec Pool 4)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from engine.pool.data.records import RLQueryData, TrajectoryData, check_row, global_to_local
from engine.pool.top_k import as_array, similarities


@dataclass(frozen=True)
class PoolInjection:
    """A query after injection. `places`: places of the rows `injected`, in order; `replaced`: the earlier rows of these
    places; `refused`: rows without a free place."""

    query: RLQueryData
    places: tuple[int, ...] = ()
    injected: tuple[int, ...] = ()
    replaced: tuple[int, ...] = ()
    refused: tuple[int, ...] = ()


class CandidatePoolInjector:
    """`img_emb_data` [N, d]: the embedding table, also a Tensor, whose rows pools hold."""

    def __init__(self, img_emb_data: ArrayLike | Tensor, max_inject_per_query: int = 8) -> None:
        self._table = as_array(img_emb_data)
        self.max_inject_per_query = max_inject_per_query

    def fits(self, pool: Sequence[int], referenced: Iterable[int], new: Iterable[int]) -> bool:
        """Whether the pool has places for rows `new` if rows `referenced` stay."""
        coming, free = set(new) - set(pool), set(pool) - set(referenced)
        return len(coming) <= min(self.max_inject_per_query, len(free))

    def inject_positives(
        self,
        query_data: RLQueryData,
        positive_icds: Sequence[int],
        query_embedding: NDArray[Any],
        keep: Iterable[int] = (),
    ) -> PoolInjection:
        """Put rows `positive_icds` into the pool, at most `max_inject_per_query`, in place of the least similar ones.

        Rows of `keep`, and rows that a trajectory of `query_data` points to, stay; of equally similar rows the later
        one is replaced first. All other rows keep their places, as a place carries a prior. Pointers are remapped.
        Raises OutOfRangeError for a row that the table lacks.
        """
        pool = query_data.candidate_pool_indices
        coming = [row for row in dict.fromkeys(positive_icds) if row not in pool]
        for row in coming:
            check_row(row, "a positive", len(self._table), f"query {query_data.query_id}")
        referenced = set(keep).union(*map(query_data.pair, query_data.pointer_candidates))
        similarity = similarities(self._table, pool, query_embedding) if coming else []
        replaceable = sorted(
            (place for place, row in enumerate(pool) if row not in referenced),
            key=lambda place: (similarity[place], -place),
        ) if coming else []  # fmt: skip
        places = replaceable[: min(len(coming), self.max_inject_per_query)]
        new_pool = list(pool)
        for place, row in zip(places, coming, strict=False):
            new_pool[place] = row
        return PoolInjection(
            query=remapped(query_data, new_pool),
            places=tuple(places),
            injected=tuple(coming[: len(places)]),
            replaced=tuple(pool[place] for place in places),
            refused=tuple(coming[len(places) :]),
        )


def remapped(query: RLQueryData, pool: list[int]) -> RLQueryData:
    """The query with another pool, its trajectories remapped to the same rows. Raises DataError for a row that the
    pool lacks."""
    return msgspec.structs.replace(
        query,
        candidate_pool_indices=pool,
        pointer_candidates=[pointing(old, query.pair(old), pool) for old in query.pointer_candidates],
    )


def pointing(trajectory: TrajectoryData, pair: Sequence[int], pool: Sequence[int]) -> TrajectoryData:
    """The trajectory, pointing to rows `pair` in `pool`. Raises DataError for a row that the pool lacks."""
    return msgspec.structs.replace(
        trajectory, pointer=[global_to_local(row, pool) for row in pair], pointer_global=list(pair)
    )
