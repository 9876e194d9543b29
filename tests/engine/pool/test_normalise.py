"""Pools of any size become 64 different usable rows (spec Pool, properties 1 to 3), hostile files included."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import DataError
from engine.pool.data.records import POOL_SIZE, RLQueryData, TrajectoryData
from engine.pool.normalise import Normalised, normalise
from engine.pool.top_k import similarities, top_k
from engine.pool.trajectory_quality_controller import TrajectoryQualityController
from tests.engine.pool.rl_data import queries
from tests.exactly import exactly

ROWS = 700
TABLE = np.random.default_rng(0).normal(size=(ROWS, 8)).astype(np.float32)
HOSTILE = TABLE.copy()
HOSTILE[::7] = np.nan
QUERY = np.random.default_rng(1).normal(size=8).astype(np.float32)


def normalised(query: RLQueryData, table: np.ndarray = TABLE, own: tuple[int, ...] = ()) -> Normalised:
    nearest = top_k(table, QUERY[None], POOL_SIZE + len(own)).of(0)
    return normalise(query, table, QUERY, nearest, TrajectoryQualityController().ranked, own)


def plain(pool: list[int], *pointers: tuple[int, int], scores: tuple[float, ...] = ()) -> RLQueryData:
    scores = scores or (1.0,) * len(pointers)
    return RLQueryData(
        query_id="7",
        candidate_pool_indices=pool,
        pointer_candidates=[
            TrajectoryData(
                pointer=list(pointer), vqa_correct=int(score == 1), vqa_acc_score=score, gen_method="beam"
            )
            for pointer, score in zip(pointers, scores, strict=True)
        ],
    )


def by_similarity(rows: list[int]) -> list[int]:
    cosine = similarities(TABLE, rows, QUERY)
    return [rows[place] for place in np.argsort(-cosine, kind="stable")]


@given(
    query=st.sampled_from([(1, 10), (60, 70), (400, 500)]).flatmap(lambda sizes: queries(rows=ROWS, sizes=sizes)),
    own=st.lists(st.integers(0, ROWS - 1), max_size=3, unique=True).map(tuple),
    table=st.sampled_from([TABLE, HOSTILE]),
)  # fmt: skip
def test_properties_1_to_3_hold_for_any_file(query: RLQueryData, own: tuple[int, ...], table: np.ndarray):
    found = normalised(query, table, own)
    pool = found.query.candidate_pool_indices
    assert len(pool) == len(set(pool)) == POOL_SIZE
    assert not set(pool) & set(own)
    assert np.isfinite(table[pool]).all()
    pairs = [query.pair(trajectory) for trajectory in query.pointer_candidates]
    for trajectory in found.query.pointer_candidates:
        assert all(0 <= place < POOL_SIZE for place in trajectory.pointer)
        assert found.query.pair(trajectory) == tuple(trajectory.pointer_global or ())
        assert found.query.pair(trajectory) in pairs, "a trajectory points to other rows than it did"
    stayed = [
        row
        for row in dict.fromkeys(query.candidate_pool_indices)
        if row in pool[: POOL_SIZE - len(found.filled)]
    ]
    assert pool == stayed + list(found.filled), "order carries a prior"
    gone = len(query.pointer_candidates) - len(found.query.pointer_candidates)
    assert gone == sum(count for reason, count in found.dropped.items() if reason.startswith("trajectory"))


def test_a_small_pool_is_filled_with_the_nearest_rows():
    found = normalised(plain([5, 6, 7], (2, 0)))
    nearest = [row for row in by_similarity(list(range(ROWS))) if row not in (5, 6, 7)]
    assert found.query.candidate_pool_indices == [5, 6, 7, *nearest[:61]]
    assert found.query.pointer_candidates[0].pointer == [2, 0]


def test_of_a_large_pool_what_is_pointed_to_stays_then_the_most_similar():
    pool = list(range(499, -1, -1))
    far = by_similarity(list(range(500)))[-4:]
    pointers = [(pool.index(far[0]), pool.index(far[1])), (pool.index(far[2]), pool.index(far[3]))]
    found = normalised(plain(pool, *pointers, scores=(0.0, 1.0)))
    others = [row for row in by_similarity(list(range(500))) if row not in far]
    assert sorted(found.query.candidate_pool_indices) == sorted([*far, *others[:60]])
    assert found.query.candidate_pool_indices == sorted(found.query.candidate_pool_indices, reverse=True)
    assert [found.query.pair(trajectory) for trajectory in found.query.pointer_candidates] == [
        (far[0], far[1]),
        (far[2], far[3]),
    ]
    assert len(found.cut) == 436


def test_where_not_everything_pointed_to_fits_the_best_stays():
    pointers = [(2 * number, 2 * number + 1) for number in range(100)]
    found = normalised(plain(list(range(200)), *pointers, scores=(*(0.0,) * 99, 1.0)))
    assert found.query.pair(found.query.pointer_candidates[-1]) == (198, 199)
    assert len(found.query.pointer_candidates) == 32
    assert found.dropped["trajectory: its candidate was cut"] == 68


def test_a_trajectory_fits_with_one_row_more_where_the_other_is_kept() -> None:
    """63 with one row in common point to 64 rows, as many as a pool has: those that are least similar."""
    far = by_similarity(list(range(500)))[-64:]
    found = normalised(plain(list(range(500)), *((far[0], row) for row in far[1:])))
    assert sorted(found.query.candidate_pool_indices) == sorted(far)
    assert len(found.query.pointer_candidates) == 63


def test_what_cannot_be_used_is_counted_by_reason():
    found = normalised(plain([1, 2, 1, 0, 9], (0, 2), (0, 1), (2, 1), (3, 1), (4, 1)), HOSTILE, own=(9,))
    assert found.query.candidate_pool_indices[:2] == [1, 2]
    assert [found.query.pair(trajectory) for trajectory in found.query.pointer_candidates] == [(1, 2)]
    assert found.cut == (), "there was room for all that can be used"
    assert found.dropped == {
        "candidate: twice in the pool": 1,
        "candidate: the query itself": 1,
        "candidate: embedding not finite": 1,
        "trajectory: one candidate twice": 1,
        "trajectory: same pair as another": 1,
        "trajectory: its candidate cannot be used": 2,
    }


def test_a_table_that_is_too_small_is_named():
    with pytest.raises(
        DataError,
        match=exactly(
            "a pool of 64 needs as many usable rows, the table has 54 (query 7): give a larger embedding table, "
            "without NaN"
        ),
    ):
        normalised(plain([1, 2]), HOSTILE[:63])


def test_of_two_to_the_same_rows_the_one_that_was_scored_stays():
    query = plain([1, 2], (0, 1), (0, 1), (0, 1), scores=(0.0, 0.6, 1.0))
    failed = msgspec.structs.replace(query.pointer_candidates[0], extra={"eval_failed": True})
    query = msgspec.structs.replace(query, pointer_candidates=[failed, *query.pointer_candidates[1:]])
    found = normalised(query)
    assert [trajectory.vqa_acc_score for trajectory in found.query.pointer_candidates] == [0.6]
    assert found.dropped == {"trajectory: same pair as another": 2}


def test_a_pool_is_not_filled_with_the_query_itself_however_near() -> None:
    nearest = top_k(TABLE, QUERY[None], POOL_SIZE + 2).of(0)
    own = (nearest[0], nearest[3])
    ranked = TrajectoryQualityController().ranked
    found = normalise(plain([nearest[5]]), TABLE, QUERY, nearest, ranked, own)
    rest = [row for row in nearest if row not in own and row != nearest[5]]
    assert found.query.candidate_pool_indices == [nearest[5], *rest[: POOL_SIZE - 1]]
    assert found.filled == tuple(rest[: POOL_SIZE - 1])


def test_of_equally_similar_rows_the_earlier_of_the_pool_stays() -> None:
    table = np.ones((4, 2), dtype=np.float32)
    ranked = TrajectoryQualityController().ranked
    found = normalise(plain([2, 0, 3, 1]), table, np.ones(2, dtype=np.float32), [], ranked, size=3)
    assert (found.query.candidate_pool_indices, found.cut) == ([2, 0, 3], (1,))
