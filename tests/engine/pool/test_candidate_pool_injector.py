"""Injection in place (spec Pool, properties 1 to 4)."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from engine.pool.candidate_pool_injector import CandidatePoolInjector
from engine.pool.data.records import POOL_SIZE, RLQueryData, TrajectoryData
from engine.pool.top_k import similarities

ROWS = 300
TABLE = np.random.default_rng(0).normal(size=(ROWS, 8)).astype(np.float32)
QUERY = np.random.default_rng(1).normal(size=8).astype(np.float32)


@st.composite
def normal_queries(draw: st.DrawFn) -> RLQueryData:
    pool = draw(st.permutations(range(ROWS)))[:POOL_SIZE]
    place = st.integers(0, POOL_SIZE - 1)
    pointers = draw(st.lists(st.tuples(place, place), max_size=60))
    return RLQueryData(
        query_id="7",
        candidate_pool_indices=list(pool),
        pointer_candidates=[
            TrajectoryData(pointer=list(pointer), vqa_correct=0, vqa_acc_score=0.0, gen_method="beam")
            for pointer in pointers
        ],
    )


@given(
    query=normal_queries(),
    new=st.lists(st.integers(0, ROWS - 1), max_size=20),
    most=st.integers(0, 12),
    keep=st.lists(st.integers(0, ROWS - 1), max_size=5),
)
def test_properties_1_to_4_hold_after_any_injection(
    query: RLQueryData, new: list[int], most: int, keep: list[int]
):
    found = CandidatePoolInjector(TABLE, most).inject_positives(query, new, QUERY, keep)
    before, after = query.candidate_pool_indices, found.query.candidate_pool_indices
    assert len(after) == len(set(after)) == POOL_SIZE
    assert len(found.injected) == len(found.places) == len(found.replaced) <= most
    for trajectory, old in zip(found.query.pointer_candidates, query.pointer_candidates, strict=True):
        assert found.query.pair(trajectory) == query.pair(old) == tuple(trajectory.pointer_global or ())
        assert trajectory.pointer == old.pointer, "what stays keeps its place"
    referenced = {row for trajectory in query.pointer_candidates for row in query.pair(trajectory)}
    assert not set(found.replaced) & (referenced | set(keep))
    changed = [place for place in range(POOL_SIZE) if before[place] != after[place]]
    assert sorted(found.places) == changed
    assert tuple(after[place] for place in found.places) == found.injected
    assert (*found.injected, *found.refused) == tuple(row for row in dict.fromkeys(new) if row not in before)
    free = [row for row in before if row not in referenced | set(keep)]
    assert not found.refused or len(found.injected) == min(most, len(free))
    stayed = sorted(similarities(TABLE, [row for row in free if row not in found.replaced], QUERY))
    gone = sorted(similarities(TABLE, found.replaced, QUERY))
    assert not gone or not stayed or gone[-1] <= stayed[0], "the least similar go"


@given(
    query=normal_queries(),
    new=st.lists(st.integers(0, ROWS - 1), max_size=20, unique=True),
    most=st.integers(0, 12),
)
def test_what_fits_comes_in(query: RLQueryData, new: list[int], most: int):
    injector = CandidatePoolInjector(TABLE, most)
    referenced = {row for trajectory in query.pointer_candidates for row in query.pair(trajectory)}
    refused = injector.inject_positives(query, new, QUERY).refused
    assert injector.fits(query.candidate_pool_indices, referenced, new) == (not refused)


def test_where_everything_is_pointed_to_nothing_fits():
    pool = list(range(POOL_SIZE))
    injector = CandidatePoolInjector(TABLE, 8)
    pairs = [[number, number + 1] for number in range(0, 62, 2)]
    query = RLQueryData(
        query_id="7",
        candidate_pool_indices=pool,
        pointer_candidates=[
            TrajectoryData(pointer=pair, vqa_correct=0, vqa_acc_score=0.0, gen_method="beam")
            for pair in pairs
        ],
    )
    assert injector.fits(pool, range(62), [100, 101]) and not injector.fits(pool, range(62), [100, 101, 102])
    found = injector.inject_positives(query, [100, 101, 102], QUERY)
    assert found.injected == (100, 101) and set(found.places) == {62, 63} and found.refused == (102,)


def test_of_equally_similar_rows_the_later_one_goes():
    table = np.ones((70, 4), dtype=np.float32)
    query = RLQueryData(query_id="7", candidate_pool_indices=list(range(POOL_SIZE)), pointer_candidates=[])
    found = CandidatePoolInjector(table, 2).inject_positives(query, [66, 65], table[0])
    assert found.places == (POOL_SIZE - 1, POOL_SIZE - 2)
    assert found.query.candidate_pool_indices[-2:] == [65, 66]


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float16, torch.bfloat16, torch.float32])
def test_the_table_may_be_a_tensor_with_a_gradient(dtype: torch.dtype):
    """Of 70 rows the pool's first 63 look along the query, the last one away from it."""
    table = torch.tensor([[1.0, 0.0]] * 63 + [[-1.0, 0.0]] * 7, requires_grad=True).to(dtype)
    query = RLQueryData(query_id="7", candidate_pool_indices=list(range(POOL_SIZE)), pointer_candidates=[])
    found = CandidatePoolInjector(table, 1).inject_positives(query, [66], np.array([1.0, 0.0]))
    assert (found.replaced, found.injected) == ((63,), (66,))


def test_rows_fit_where_places_are_free_and_the_limit_allows():
    pool, injector = list(range(POOL_SIZE)), CandidatePoolInjector(TABLE, 3)
    assert injector.fits(pool, [], [100, 101, 102]) and not injector.fits(pool, [], [100, 101, 102, 103])
    assert injector.fits(pool, pool[2:], [100, 101, 5]) and not injector.fits(pool, pool[2:], [100, 101, 102])
