"""Brings pools of any size to 64 different, usable candidates (spec Pool, properties 1 to 3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from numpy.typing import NDArray

from engine.errors import DataError
from engine.pool.candidate_pool_injector import remapped
from engine.pool.data.records import POOL_SIZE, RLQueryData, TrajectoryData
from engine.pool.top_k import similarities, usable_rows

Ranking = Callable[[Sequence[TrajectoryData]], Sequence[TrajectoryData]]
"""Orders trajectories by how much their rows are worth keeping."""


@dataclass(frozen=True)
class Normalised:
    """`query` with its pool of 64. `cut`, `filled`: rows removed or added for size; `dropped`: counts of rows and
    trajectories left out, by reason."""

    query: RLQueryData
    cut: tuple[int, ...] = ()
    filled: tuple[int, ...] = ()
    dropped: Counter[str] = field(default_factory=Counter)


def normalise(
    query: RLQueryData,
    table: NDArray[Any],
    query_embedding: NDArray[Any],
    nearest: Sequence[int],
    ranking: Ranking,
    excluded: Sequence[int] = (),
    size: int = POOL_SIZE,
) -> Normalised:
    """The query with a pool of exactly `size` different rows, none its own, all finite in `table`.

    Rows keep their order, which carries a prior. From a pool that is too large, rows of the best trajectories and then
    the most similar rows stay; a pool that is too small is filled with the `nearest` rows of the table. A trajectory
    is dropped with a row it points to, if it points to the same row twice, or if it repeats another trajectory. Raises
    DataError if the table has too few usable rows.
    """
    dropped: Counter[str] = Counter()
    pool = _usable(query.candidate_pool_indices, table, set(excluded), dropped)
    trajectories = _distinct(query, set(pool), dropped)
    kept = _fitting(query, pool, ranking(trajectories), table, query_embedding, size)
    surviving = [trajectory for trajectory in trajectories if kept.issuperset(query.pair(trajectory))]
    if len(surviving) < len(trajectories):
        dropped["trajectory: its candidate was cut"] += len(trajectories) - len(surviving)
    cut = tuple(row for row in pool if row not in kept)
    taken = {*pool, *excluded}
    filled = tuple(row for row in nearest if row not in taken)[: size - len(kept)]
    if len(kept) + len(filled) < size:
        raise DataError(
            what=f"a pool of {size} needs as many usable rows, the table has {len(kept) + len(filled)}",
            where=f"query {query.query_id}",
            hint="give a larger embedding table, without NaN",
        )
    whole = [row for row in pool if row in kept] + list(filled)
    thinned = msgspec.structs.replace(query, pointer_candidates=surviving)
    return Normalised(remapped(thinned, whole), cut, filled, dropped)


def _usable(pool: Sequence[int], table: NDArray[Any], excluded: set[int], dropped: Counter[str]) -> list[int]:
    """Different rows in order, without the query's own and rows that are not finite."""
    once = list(dict.fromkeys(pool))
    others = [row for row in once if row not in excluded]
    usable = [row for row, good in zip(others, usable_rows(table, others), strict=True) if good]
    counts = {
        "candidate: twice in the pool": len(pool) - len(once),
        "candidate: the query itself": len(once) - len(others),
        "candidate: embedding not finite": len(others) - len(usable),
    }
    dropped.update({reason: count for reason, count in counts.items() if count})
    return usable


def _distinct(query: RLQueryData, pool: set[int], dropped: Counter[str]) -> list[TrajectoryData]:
    """Trajectories to two different rows of the pool; of several to the same rows the first with a score."""
    distinct: dict[tuple[int, int], TrajectoryData] = {}
    for trajectory in query.pointer_candidates:
        pair = query.pair(trajectory)
        if not pool.issuperset(pair):
            dropped["trajectory: its candidate cannot be used"] += 1
        elif pair[0] == pair[1]:
            dropped["trajectory: one candidate twice"] += 1
        elif pair in distinct and not distinct[pair].failed:
            dropped["trajectory: same pair as another"] += 1
        else:
            dropped.update(["trajectory: same pair as another"] if pair in distinct else [])
            distinct[pair] = trajectory
    return list(distinct.values())


def _fitting(
    query: RLQueryData,
    pool: Sequence[int],
    ranked: Sequence[TrajectoryData],
    table: NDArray[Any],
    query_embedding: NDArray[Any],
    size: int,
) -> set[int]:
    """The rows to keep, at most `size`."""
    if len(pool) <= size:
        return set(pool)
    kept: set[int] = set()
    for trajectory in ranked:
        if len(kept.union(query.pair(trajectory))) <= size:
            kept.update(query.pair(trajectory))
    similarity = similarities(table, pool, query_embedding)
    order = sorted(range(len(pool)), key=lambda place: (-similarity[place], place))
    rest = [pool[place] for place in order if pool[place] not in kept]
    return kept.union(rest[: size - len(kept)])
