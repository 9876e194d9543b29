"""New candidates take the places of the least similar ones (spec Pool 4)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from numpy.typing import NDArray

from engine.pool.data.records import RLQueryData, TrajectoryData, global_to_local
from engine.pool.top_k import similarities


@dataclass(frozen=True)
class Injection:
    """`places` of the pool that have new rows, in order of `injected`; `replaced`: the rows that stood there;
    `refused`: rows for which there was no place left."""

    query: RLQueryData
    places: tuple[int, ...] = ()
    injected: tuple[int, ...] = ()
    replaced: tuple[int, ...] = ()
    refused: tuple[int, ...] = ()


class CandidatePoolInjector:
    """`img_emb_data`: [N, d], what pools are rows of."""

    def __init__(self, img_emb_data: NDArray[Any], max_inject_per_query: int = 8) -> None:
        self._table = img_emb_data
        self.max_inject_per_query = max_inject_per_query

    def fits(self, pool: Sequence[int], referenced: Iterable[int], new: Iterable[int]) -> bool:
        """Whether rows `new` may come in while rows `referenced` stay."""
        coming, free = set(new) - set(pool), set(pool) - set(referenced)
        return len(coming) <= min(self.max_inject_per_query, len(free))

    def inject_positives(
        self,
        query_data: RLQueryData,
        positive_icds: Sequence[int],
        query_embedding: NDArray[Any],
        keep: Iterable[int] = (),
    ) -> Injection:
        """Put rows `positive_icds` into the pool, at most `max_inject_per_query`, in place of the least similar ones.

        No row that a trajectory of `query_data` points to, or that stands in `keep`, goes; of equally similar ones
        the later goes first. All others keep their places, for a place carries a prior. Pointers are mapped anew.
        """
        pool = query_data.candidate_pool_indices
        coming = [row for row in dict.fromkeys(positive_icds) if row not in pool]
        referenced = set(keep).union(*map(query_data.pair, query_data.pointer_candidates))
        similarity = similarities(self._table, pool, query_embedding) if coming else []
        going = sorted(
            (place for place, row in enumerate(pool) if row not in referenced),
            key=lambda place: (similarity[place], -place),
        ) if coming else []  # fmt: skip
        places = going[: min(len(coming), self.max_inject_per_query)]
        new_pool = list(pool)
        for place, row in zip(places, coming, strict=False):
            new_pool[place] = row
        return Injection(
            query=remapped(query_data, new_pool),
            places=tuple(places),
            injected=tuple(coming[: len(places)]),
            replaced=tuple(pool[place] for place in places),
            refused=tuple(coming[len(places) :]),
        )


def remapped(query: RLQueryData, pool: list[int]) -> RLQueryData:
    """The query with another pool; its trajectories point to the rows they pointed to. Raises DataError where a
    row is not in the pool."""
    return msgspec.structs.replace(
        query,
        candidate_pool_indices=pool,
        pointer_candidates=[pointing(one, query.pair(one), pool) for one in query.pointer_candidates],
    )


def pointing(trajectory: TrajectoryData, pair: Sequence[int], pool: Sequence[int]) -> TrajectoryData:
    """The trajectory, pointing to rows `pair` in `pool`. Raises DataError where one is not there."""
    return msgspec.structs.replace(
        trajectory, pointer=[global_to_local(row, pool) for row in pair], pointer_global=list(pair)
    )
