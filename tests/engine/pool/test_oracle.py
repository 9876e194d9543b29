"""Commit-on-improve, the quotas and injection once more, literally from the specification in plain Python, on data that
hypothesis makes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.pool.candidate_pool_injector import CandidatePoolInjector
from engine.pool.data.records import RLQueryData, TrajectoryData
from engine.pool.improve import improve
from engine.pool.trajectory_quality_controller import TrajectoryQualityController
from engine.pool.vqa.evaluated_pairs import EvaluatedPair

SCORES = st.sampled_from((0.0, 0.3, 0.6, 0.9, 1.0))
TABLE = np.random.default_rng(5).normal(size=(40, 6)).astype(np.float32)
QUERY = np.random.default_rng(6).normal(size=6).astype(np.float32)


def trajectory(score: float, pair: tuple[int, int] = (0, 1), pool: list[int] | None = None) -> TrajectoryData:
    pointer = [(pool or list(range(40))).index(row) for row in pair]
    return TrajectoryData(
        pointer=pointer,
        pointer_global=list(pair),
        vqa_correct=int(score == 1),
        vqa_acc_score=score,
        gen_method="beam",
    )


@given(st.lists(SCORES, max_size=6), SCORES)
def test_a_trajectory_is_committed_that_raises_the_best_or_brings_a_new_score(
    old: list[float], new: float
) -> None:
    """The two rules of `should_commit`; without any trajectory the best is 0."""
    raises, more = new > max(old, default=0.0), len({*old, new}) > len(set(old))
    found = TrajectoryQualityController().should_commit([trajectory(score) for score in old], trajectory(new))
    assert found == (raises or more)


@given(st.lists(SCORES, min_size=1, max_size=30))
def test_twelve_are_selected_by_quotas(scores: list[float]) -> None:
    """At most four right and two partly right ones, as long as wrong ones fill up what is left; twelve in all."""
    chosen = TrajectoryQualityController().select_final_trajectories(
        [trajectory(score, (number % 40, (number + 1) % 40)) for number, score in enumerate(scores)]
    )
    assert len(chosen) == 12
    different = [one for one in chosen if not one.extra.get("repeated")]
    assert len(different) == min(12, len(scores))
    right, wrong = scores.count(1.0), scores.count(0.0)
    partial = len(scores) - right - wrong
    quota_right, quota_partial = min(4, right), min(2, partial)
    taken_wrong = min(wrong, 12 - quota_right - quota_partial)
    left = min(12, len(scores)) - quota_right - quota_partial - taken_wrong
    taken_right = quota_right + min(left, right - quota_right)
    taken = [one.vqa_acc_score for one in different]
    assert taken.count(1.0) == taken_right and taken.count(0.0) == taken_wrong


@given(
    st.sets(st.integers(0, 39), min_size=6, max_size=20),
    st.lists(st.integers(0, 39), max_size=12, unique=True),
)
def test_the_least_similar_rows_make_room(pool: set[int], coming: list[int]) -> None:
    """Rows that a trajectory points to stay, and every other row keeps its place; pointers lead to the same rows."""
    rows = sorted(pool)
    query = RLQueryData(
        query_id="1",
        candidate_pool_indices=rows,
        pointer_candidates=[trajectory(1.0, (rows[0], rows[3]), rows)],
    )
    found = CandidatePoolInjector(TABLE, max_inject_per_query=3).inject_positives(query, coming, QUERY)
    cosine = {
        row: float(TABLE[row] @ QUERY / np.linalg.norm(TABLE[row]) / np.linalg.norm(QUERY)) for row in rows
    }
    free = sorted((row for row in rows if row not in (rows[0], rows[3])), key=lambda row: cosine[row])
    new = [row for row in coming if row not in pool]
    count = min(3, len(new), len(free))
    expected = list(rows)
    for out, into in zip(free[:count], new[:count], strict=True):
        expected[rows.index(out)] = into
    assert found.query.candidate_pool_indices == expected
    pointed = found.query.pointer_candidates[0]
    assert [expected[place] for place in pointed.pointer] == [rows[0], rows[3]]


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 39), st.integers(0, 39), SCORES), max_size=10),
    st.lists(SCORES, max_size=5),
)
def test_an_improved_query_is_never_worse(
    mined: list[tuple[int, int, float]], given_scores: list[float]
) -> None:
    """The best known pair within the pool, by its definition, before and after."""
    pool = list(range(0, 32, 2))
    old = [trajectory(score, (pool[n], pool[n + 1]), pool) for n, score in enumerate(given_scores)]
    query = RLQueryData(query_id="1", candidate_pool_indices=pool, pointer_candidates=old)
    known = {
        (one.pointer_global[0], one.pointer_global[1]): one.vqa_acc_score for one in old if one.pointer_global
    }
    asked = {(a, b): score for a, b, score in mined if a != b and (a, b) not in known}
    pairs = [
        EvaluatedPair(query_id="1", pair=pair, model="m", answer="a", score=score)
        for pair, score in asked.items()
    ]
    found = improve(query, pairs, QUERY, TrajectoryQualityController(), CandidatePoolInjector(TABLE))

    def best(rows: list[int], scores: dict[tuple[int, int], float]) -> float:
        return max((score for (a, b), score in scores.items() if a in rows and b in rows), default=0.0)

    after = found.query.candidate_pool_indices
    assert found.oracle_before == pytest.approx(best(pool, known))
    assert found.oracle_after == pytest.approx(best(after, known | asked))
    assert found.oracle_after >= found.oracle_before and len(after) == len(set(after)) == len(pool)
