"""Commit-on-improve and the final selection, against the rules read literally (spec Pool, properties 5 and 6)."""

from __future__ import annotations

from collections import Counter

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.pool.data.records import TrajectoryData
from engine.pool.trajectory_quality_controller import (
    HIGHER_MAXIMUM,
    NEVER_SCORED,
    NEW_SCORE,
    NO_IMPROVEMENT,
    TrajectoryQualityController,
)
from tests.engine.pool.rl_data import SCORES, trajectories

POOL = list(range(30))


def scored(score: float, pointer: tuple[int, int] = (0, 1), failed: bool = False) -> TrajectoryData:
    return TrajectoryData(
        pointer=list(pointer),
        vqa_correct=int(score == 1),
        vqa_acc_score=score,
        gen_method="beam",
        extra={"eval_failed": True} if failed else {},
    )


def several(*scores: float) -> list[TrajectoryData]:
    return [scored(score, (number, number + 1)) for number, score in enumerate(scores)]


@pytest.mark.parametrize(
    ("current", "new", "rule"),
    [
        ([0.0, 0.6], 1.0, HIGHER_MAXIMUM),
        ([1.0, 0.0], 0.6, NEW_SCORE),
        ([1.0, 0.6], 0.6, NO_IMPROVEMENT),
        ([1.0, 0.6], 0.6 + 1e-12, NO_IMPROVEMENT),
        ([], 0.0, NEW_SCORE),
        ([], 0.3, HIGHER_MAXIMUM),
        ([0.0], 0.0, NO_IMPROVEMENT),
    ],
)
def test_rules(current: list[float], new: float, rule: str):
    controller = TrajectoryQualityController()
    assert controller.rule(several(*current), scored(new)) == rule
    assert controller.should_commit(several(*current), scored(new)) == (rule in (HIGHER_MAXIMUM, NEW_SCORE))


def test_what_was_never_scored_neither_commits_nor_counts():
    controller = TrajectoryQualityController()
    assert controller.rule([], scored(1.0, failed=True)) == NEVER_SCORED
    assert controller.rule([scored(1.0, failed=True)], scored(1.0)) == HIGHER_MAXIMUM


@given(st.lists(trajectories(POOL), max_size=12), st.lists(trajectories(POOL), max_size=12))
def test_property_5_everything_committed_improved(given_: list[TrajectoryData], new: list[TrajectoryData]):
    controller, current = TrajectoryQualityController(), list(given_)
    for trajectory in new:
        before = [t.vqa_acc_score for t in current if not t.failed]
        if controller.should_commit(current, trajectory):
            current.append(trajectory)
            after = [t.vqa_acc_score for t in current if not t.failed]
            assert max(after) > max(before, default=-1) or len(set(after)) > len(set(before))
        else:
            assert trajectory.failed or trajectory.vqa_acc_score in before


@given(
    st.lists(trajectories(POOL), max_size=40),
    st.lists(trajectories(POOL), max_size=10),
    st.integers(1, 20),
    st.integers(0, 6),
    st.integers(0, 6),
)
def test_property_6_exactly_as_many_as_wanted(
    given_: list[TrajectoryData], reserve: list[TrajectoryData], target: int, positive: int, partial: int
):
    controller = TrajectoryQualityController(target, positive, partial, fill_with_refused=True)
    final = controller.select_final_trajectories(given_, reserve)
    usable = [trajectory for trajectory in (*given_, *reserve) if not trajectory.failed]
    assert len(final) == (target if usable else 0)
    assert not any(trajectory.failed for trajectory in final)
    if len(usable) >= target:
        assert not any("repeated" in trajectory.extra for trajectory in final)
        assert not Counter(map(id, final)) - Counter(map(id, usable))


def kind(score: float) -> str:
    return "positive" if score == 1 else "partial" if score else "wrong"


@given(st.lists(st.sampled_from(SCORES), min_size=12, max_size=60))
def test_quotas_hold_where_wrong_ones_can_fill_the_rest(scores: list[float]):
    wrong = [0.0] * 12
    final = TrajectoryQualityController(12, 4, 2).select_final_trajectories(several(*scores, *wrong))
    found = Counter(kind(trajectory.vqa_acc_score) for trajectory in final)
    assert found["positive"] == min(4, scores.count(1.0))
    assert found["partial"] == min(2, sum(0 < score < 1 for score in scores))


def test_partly_right_ones_are_as_different_as_can_be():
    final = TrajectoryQualityController(3, 0, 2).choose(several(0.6, 0.6, 0.3, 0.0))
    assert [trajectory.vqa_acc_score for trajectory in final] == [0.6, 0.3, 0.0]


def test_what_was_refused_stands_in_before_anything_is_repeated():
    controller = TrajectoryQualityController(4, fill_with_refused=True)
    final = controller.select_final_trajectories(several(1.0), [scored(1.0, (5, 6)), scored(0.0, (7, 8))])
    assert [trajectory.pointer for trajectory in final] == [[0, 1], [5, 6], [7, 8], [0, 1]]
    assert [trajectory.extra.get("repeated", False) for trajectory in final] == [False, False, False, True]


def test_the_order_of_preference_and_the_repetitions():
    """Right ones up to their quota, then partly right ones, wrong ones, the rest; of what fills its quota already
    nothing is repeated."""
    controller = TrajectoryQualityController(target_trajectory_count=9, positive_quota=1, partial_quota=1)
    given_ = [
        msgspec.structs.replace(one, extra={"note": number})
        for number, one in enumerate(several(0.0, 0.3, 1.0, 0.6, 1.0))
    ]
    order = [1.0, 0.6, 0.0, 1.0, 0.3]
    assert [item.vqa_acc_score for item in controller.ranked(given_)] == order
    chosen = controller.select_final_trajectories(given_)
    assert [item.vqa_acc_score for item in chosen] == order + [0.0] * 4
    assert [item.extra for item in chosen[5:]] == [{"note": 0, "repeated": True}] * 4, (
        "with all that it was given"
    )
    assert ["repeated" in item.extra for item in chosen] == [False] * 5 + [True] * 4
