"""A whole query, from any file to its final pool and trajectories (spec Pool, properties 1 to 6 together)."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from engine.pool.candidate_pool_injector import CandidatePoolInjector
from engine.pool.data.records import POOL_SIZE, RLQueryData, TrajectoryData
from engine.pool.improve import (
    COMMITTED,
    GIVEN,
    LOST,
    NO_PLACE,
    NOT_IN_POOL,
    REFUSED,
    TRANSFER,
    Improved,
    improve,
)
from engine.pool.normalise import normalise
from engine.pool.top_k import similarities, top_k
from engine.pool.trajectory_quality_controller import (
    HIGHER_MAXIMUM,
    NEVER_SCORED,
    NEW_SCORE,
    NO_IMPROVEMENT,
    TrajectoryQualityController,
)
from engine.pool.vqa.evaluated_pairs import EvaluatedPair
from tests.engine.pool.rl_data import SCORES, queries

ROWS = 200
TABLE = np.random.default_rng(0).normal(size=(ROWS, 8)).astype(np.float32)
QUERY = np.random.default_rng(1).normal(size=8).astype(np.float32)
NEAREST = top_k(TABLE, QUERY[None], POOL_SIZE).of(0)
PLAIN = RLQueryData(query_id="7", candidate_pool_indices=list(range(64)), pointer_candidates=[])


def mined(pair: tuple[int, int], score: float | None) -> EvaluatedPair:
    return EvaluatedPair(
        query_id="7", pair=pair, model="table", answer=None if score is None else "x", score=score
    )


def improved(
    query: RLQueryData, found: list[EvaluatedPair], controller: TrajectoryQualityController, most: int = 8
) -> tuple[RLQueryData, Improved]:
    normal = normalise(query, TABLE, QUERY, NEAREST, controller.ranked).query
    return normal, improve(normal, found, QUERY, controller, CandidatePoolInjector(TABLE, most))


@st.composite
def mined_pairs(draw: st.DrawFn) -> list[EvaluatedPair]:
    row = st.integers(0, ROWS - 1)
    pairs = draw(
        st.lists(st.tuples(row, row).filter(lambda pair: pair[0] != pair[1]), max_size=20, unique=True)
    )
    return [mined(pair, draw(st.sampled_from([None, *SCORES]))) for pair in pairs]


@given(
    query=queries(rows=ROWS, sizes=(1, 100)),
    pairs=mined_pairs(),
    target=st.integers(1, 40),
    most=st.integers(0, 10),
)
def test_all_properties_for_any_query_and_any_finds(
    query: RLQueryData, pairs: list[EvaluatedPair], target: int, most: int
):
    controller = TrajectoryQualityController(target, min(4, target), 0 if target < 6 else 2)
    normal, found = improved(query, pairs, controller, most)
    known = {normal.pair(one) for one in normal.pointer_candidates if not one.failed}
    pairs = [one for one in pairs if one.pair not in known]
    normal, found = improved(query, pairs, controller, most)
    pool, final = found.query.candidate_pool_indices, found.query.pointer_candidates
    assert len(pool) == len(set(pool)) == POOL_SIZE
    scores = {normal.pair(one): one.vqa_acc_score for one in normal.pointer_candidates if not one.failed}
    scores |= {one.pair: one.score for one in pairs if one.score is not None}
    for one in final:
        assert all(0 <= place < POOL_SIZE for place in one.pointer)
        assert found.query.pair(one) == tuple(one.pointer_global or ())
        assert one.vqa_acc_score == scores[found.query.pair(one)], "a score went to another pair"
    assert len(found.injection.injected) <= most and not found.injection.refused
    assert len(final) == (target if known or any(v.kept for v in found.verdicts) else 0)
    _committed_improve(found)
    assert found.oracle_after >= found.oracle_before
    assert found.oracle_after == max((s for pair, s in scores.items() if set(pair) <= set(pool)), default=0)
    for row in found.injection.injected:
        assert any(row in v.pair and v.kept for v in found.verdicts), "an injected row that nothing points to"
    kept = Counter(found.query.pair(one) for one in final)
    assert kept == Counter({v.pair: v.kept for v in found.verdicts if v.kept})


def _committed_improve(found: Improved) -> None:
    """Property 5, and that what was refused is kept only where there is not enough."""
    given_ = [v.score for v in found.verdicts if v.verdict == GIVEN and v.score is not None]
    committed = sorted((v for v in found.verdicts if v.verdict == COMMITTED), key=lambda v: -(v.score or 0))
    for v in committed:
        assert v.rule == (HIGHER_MAXIMUM if (v.score or 0) > max(given_, default=0) else NEW_SCORE)
        assert v.score not in given_
        given_.append(v.score or 0)
    refused = {v.pair: v.rule for v in found.verdicts if v.verdict == REFUSED}
    for trajectory in found.query.pointer_candidates:
        assert trajectory.extra.get("refused") == refused.get(found.query.pair(trajectory)), (
            "each says so itself"
        )
    if any(v.verdict == REFUSED and v.kept for v in found.verdicts):
        assert all(v.kept for v in found.verdicts if v.verdict == COMMITTED)
        assert all(v.kept for v in found.verdicts if v.verdict == GIVEN and v.score is not None)


def rules(found: Improved) -> dict[tuple[int, int], tuple[str, str]]:
    return {v.pair: (v.verdict, v.rule) for v in found.verdicts if v.origin == TRANSFER}


def test_every_rule_by_which_a_find_is_taken_or_refused():
    pairs = [
        mined((1, 2), 0.0), mined((70, 71), 0.0), mined((72, 73), 0.6), mined((74, 75), 0.6), mined((3, 4), 0.6),
        mined((76, 77), 0.3), mined((78, 79), 1.0), mined((5, 6), None),
    ]  # fmt: skip
    _, found = improved(PLAIN, pairs, TrajectoryQualityController(), most=2)
    # Known before: nothing; inside the old pool: (3, 4); (78, 79) only once its rows are injected.
    assert (found.oracle_before, found.oracle_after) == (0.0, 1.0)
    assert rules(found) == {
        (78, 79): (COMMITTED, HIGHER_MAXIMUM),
        (3, 4): (COMMITTED, NEW_SCORE),  # needs no place, so it goes before (72, 73)
        (72, 73): (REFUSED, NO_IMPROVEMENT),
        (74, 75): (REFUSED, NO_IMPROVEMENT),
        (76, 77): (REFUSED, NO_PLACE),
        (1, 2): (COMMITTED, NEW_SCORE),
        (70, 71): (REFUSED, NO_IMPROVEMENT),
        (5, 6): (REFUSED, NEVER_SCORED),
    }
    assert found.injection.injected == (78, 79)
    assert {v.pair: v.answer for v in found.verdicts} == {one.pair: one.answer or "" for one in pairs}
    assert {v.score for v in found.verdicts if v.pair == (5, 6)} == {None}
    assert (found.oracle_before, found.oracle_after) == (0.0, 1.0)
    assert found.query.pointer_candidates[0].gen_method == TRANSFER


def test_a_wrong_pair_of_rows_that_come_anyway_needs_no_place():
    """The pair (78, 79) is right, and the other way round wrong: a score that none has."""
    found = improved(PLAIN, [mined((79, 78), 0.0), mined((78, 79), 1.0)], TrajectoryQualityController())[1]
    assert rules(found) == {(78, 79): (COMMITTED, HIGHER_MAXIMUM), (79, 78): (COMMITTED, NEW_SCORE)}
    assert found.injection.injected == (78, 79)


def test_a_row_gives_no_place_to_the_one_it_is_paired_with():
    """A pool of one row, with which the new row is paired: there is no other row that could go."""
    query = RLQueryData(query_id="7", candidate_pool_indices=[3], pointer_candidates=[])
    injector = CandidatePoolInjector(TABLE)
    found = improve(query, [mined((3, 70), 0.6)], QUERY, TrajectoryQualityController(), injector)
    assert rules(found) == {(3, 70): (REFUSED, NO_PLACE)}
    assert found.query.candidate_pool_indices == [3] and found.injection.injected == ()


def test_a_wrong_pair_is_worth_no_place():
    _, found = improved(PLAIN, [mined((70, 71), 0.0)], TrajectoryQualityController())
    assert rules(found) == {(70, 71): (REFUSED, NOT_IN_POOL)}
    assert found.query.pointer_candidates == [] and found.injection.injected == ()


def test_the_least_similar_goes_and_takes_the_trajectories_nobody_needs_with_it():
    order = np.argsort(similarities(TABLE, range(64), QUERY), kind="stable").tolist()
    wrong = [
        TrajectoryData(
            pointer=[order[0], order[number]], vqa_correct=0, vqa_acc_score=0.0, gen_method="random"
        )
        for number in range(63, 20, -1)
    ]
    lone = TrajectoryData(pointer=[order[1], order[2]], vqa_correct=0, vqa_acc_score=0.0, gen_method="beam")
    query = RLQueryData(
        query_id="7", candidate_pool_indices=list(range(64)), pointer_candidates=[*wrong, lone]
    )
    _, found = improved(query, [mined((78, 79), 1.0)], TrajectoryQualityController())
    assert found.injection.replaced == (order[1], order[2]), "the least similar is pointed to by what is kept"
    (lost,) = [v for v in found.verdicts if v.pair == (order[1], order[2])]
    assert (lost.verdict, lost.rule, lost.kept) == (GIVEN, LOST, 0)


def test_a_trajectory_that_is_not_selected_has_lost_no_candidate():
    wrong = [
        TrajectoryData(pointer=[number, 50], vqa_correct=0, vqa_acc_score=0.0, gen_method="beam")
        for number in range(2)
    ]
    query = RLQueryData(query_id="7", candidate_pool_indices=list(range(64)), pointer_candidates=wrong)
    _, found = improved(query, [], TrajectoryQualityController(1, 1, 0))
    assert [(v.verdict, v.rule, v.kept) for v in found.verdicts] == [(GIVEN, "", 1), (GIVEN, "", 0)]


def test_failed_trajectories_of_the_file_may_be_mined_again():
    failed = TrajectoryData(
        pointer=[1, 2], vqa_correct=0, vqa_acc_score=0.0, gen_method="beam", extra={"eval_failed": True}
    )
    query = RLQueryData(query_id="7", candidate_pool_indices=list(range(64)), pointer_candidates=[failed])
    _, found = improved(query, [mined((1, 2), 1.0)], TrajectoryQualityController(3, 1, 1))
    assert [(v.verdict, v.rule, v.kept) for v in found.verdicts] == [
        (GIVEN, NEVER_SCORED, 0),
        (COMMITTED, HIGHER_MAXIMUM, 3),
    ]
    assert [one.extra for one in found.query.pointer_candidates] == [
        {},
        {"repeated": True},
        {"repeated": True},
    ]


def test_nothing_is_injected_for_what_the_quotas_leave_out():
    wrong = [
        TrajectoryData(pointer=[number, 50], vqa_correct=0, vqa_acc_score=0.0, gen_method="beam")
        for number in range(2)
    ]
    query = RLQueryData(query_id="7", candidate_pool_indices=list(range(64)), pointer_candidates=wrong)
    _, found = improved(query, [mined((78, 79), 0.6)], TrajectoryQualityController(2, 1, 0))
    assert rules(found) == {(78, 79): (COMMITTED, HIGHER_MAXIMUM)}
    assert [v.kept for v in found.verdicts] == [1, 1, 0]
    assert found.injection.injected == () and found.oracle_after == 0.0


def test_the_best_pair_before_counts_in_the_pool_as_it_was():
    """Afterwards its rows have made room."""
    least, next_least = np.argsort(similarities(TABLE, range(64), QUERY), kind="stable").tolist()[:2]
    lone = TrajectoryData(pointer=[least, next_least], vqa_correct=0, vqa_acc_score=0.3, gen_method="beam")
    query = RLQueryData(query_id="7", candidate_pool_indices=list(range(64)), pointer_candidates=[lone])
    _, found = improved(query, [mined((78, 79), 1.0)], TrajectoryQualityController(1, 1, 0))
    assert found.injection.replaced == (least, next_least)
    assert (found.oracle_before, found.oracle_after) == (0.3, 1.0)
