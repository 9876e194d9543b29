"""Which rollouts are positives and which negatives, and their means: by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from engine.config.esm import OfflineMineSection
from engine.esm.mining.contrast import Rollout, contrast, split_rollouts
from engine.esm.mining.mine_work import candidate_layers


def rollout(name: str, reward: float, *, segments: int = 2, source: str = "rollout") -> Rollout:
    """Right above reward 0. Its state at segment i (from 0) and layer position l is 10 * reward + i + l / 2, twice."""
    states = [[[10 * reward + i + layer / 2] * 2 for layer in range(2)] for i in range(segments)]
    array = np.array(states, dtype=np.float32).reshape(segments, 2, 2)
    return Rollout(name, [1] * segments, reward > 0, reward, "", array, list(range(1, segments + 1)), source)


def section(**fields: object) -> OfflineMineSection:
    plain = {"K_pos": 2, "K_neg": 2, "min_correct_rollouts": 1, "min_incorrect_rollouts": 1}
    return OfflineMineSection.model_validate({**plain, "pos_source": "rollout", **fields})


def names(sets: tuple[list[Rollout], list[Rollout]] | None) -> tuple[str, str] | None:
    return sets and ("".join(y.text for y in sets[0]), "".join(y.text for y in sets[1]))


RIGHT = [rollout("a", 0.8), rollout("b", 0.9), rollout("c", 0.8), rollout("d", 0.95)]
WRONG = [rollout("v", -0.1), rollout("w", -0.3), rollout("x", -0.2), rollout("y", -0.2)]
SHORT = rollout("s", 0.99, segments=1)
GOLD = rollout("G", 0.5, source="gold")


def test_the_highest_rewards_against_the_lowest_and_the_earlier_draw_among_equals() -> None:
    mixed = [y for pair in zip(WRONG, RIGHT, strict=True) for y in pair]
    assert names(split_rollouts([SHORT, *mixed], None, 2, section())) == ("db", "wx")
    assert names(split_rollouts([SHORT, *mixed], None, 1, section(K_pos=4, K_neg=4))) == ("sdba", "wxyv")


@pytest.mark.parametrize(("most", "found"), [((3, 1), ("dba", "w")), ((1, 3), ("d", "wxy"))])
def test_each_side_has_its_own_greatest_number(most: tuple[int, int], found: tuple[str, str]) -> None:
    own = section(K_pos=most[0], K_neg=most[1])
    assert names(split_rollouts([*RIGHT, *WRONG], None, 1, own)) == found


def test_fewer_than_the_least_number_of_either_side_is_no_contrast() -> None:
    least = section(min_correct_rollouts=2, min_incorrect_rollouts=3)
    assert names(split_rollouts([*RIGHT[:2], *WRONG[:3]], None, 1, least)) == ("ba", "wx")
    assert split_rollouts([*RIGHT[:1], *WRONG[:3]], None, 1, least) is None
    assert split_rollouts([*RIGHT[:2], *WRONG[:2]], None, 1, least) is None
    assert split_rollouts([*RIGHT[:1], SHORT, *WRONG[:3]], None, 2, least) is None


@pytest.mark.parametrize(
    ("source", "right", "found"),
    [
        ("rollout", [], None),
        ("rollout", RIGHT[:2], ("ba", "w")),
        ("rollout_or_gold", [], ("G", "w")),
        ("rollout_or_gold", RIGHT[:1], ("aG", "w")),
        ("rollout_or_gold", RIGHT[:2], ("ba", "w")),
        ("gold", RIGHT[:2], ("G", "w")),
    ],
)
def test_gold_stands_in_where_right_rollouts_are_too_few(
    source: str, right: list[Rollout], found: tuple[str, str] | None
) -> None:
    own = section(pos_source=source, min_correct_rollouts=2, K_pos=3)
    assert names(split_rollouts([*right, WRONG[1]], GOLD, 2, own)) == found
    if source == "gold":
        assert split_rollouts([*right, WRONG[1]], None, 2, own) is None
        assert (
            split_rollouts([*right, WRONG[1]], rollout("H", 0.5, segments=1, source="gold"), 2, own) is None
        )


def test_without_the_need_for_right_and_wrong_the_halves_by_reward_are_contrasted() -> None:
    own = section(require_correct_and_incorrect=False)
    assert names(split_rollouts(RIGHT, None, 1, own)) == ("db", "ac")
    assert names(split_rollouts([*RIGHT, WRONG[0]], None, 1, own)) == ("db", "va")
    assert split_rollouts(RIGHT[:1], None, 1, own) is None


def test_a_contrast_is_the_difference_of_the_means_at_its_own_segment_and_layer() -> None:
    found = contrast([rollout("a", 0.8), rollout("b", 0.4)], [rollout("w", -0.2)], 2, 1)
    assert found is not None
    np.testing.assert_allclose(found.right_key, [7.5, 7.5], rtol=1e-6)  # 6 + 1 + 1/2
    np.testing.assert_allclose(found.wrong_key, [-0.5, -0.5], rtol=1e-6)  # -2 + 1 + 1/2
    np.testing.assert_allclose(found.delta, [8.0, 8.0], rtol=1e-6)
    assert found.quality == pytest.approx(0.8) and found.right_key.dtype == np.float32


def test_equal_rewards_and_states_that_are_no_numbers_are_no_contrast() -> None:
    equal, broken = rollout("b", 0.5), rollout("n", 0.1)
    assert contrast([rollout("a", 0.5)], [equal], 1, 0) is None
    assert contrast([rollout("a", 0.4)], [equal], 1, 0) is None
    broken.states[0, 0, 0] = np.nan
    assert contrast([rollout("a", 0.5)], [broken], 1, 0) is None
    assert contrast([rollout("a", 0.5)], [broken], 1, 1) is not None
    assert contrast([broken], [rollout("w", -0.5)], 1, 0) is None
    for endless in (np.inf, np.nan):
        assert contrast([replace(rollout("a", 0.5), reward=endless)], [equal], 1, 0) is None


def test_the_candidate_layers_are_the_top_third_unless_named() -> None:
    assert candidate_layers([], 28) == tuple(range(19, 28))
    assert candidate_layers([], 4) == (3,) and candidate_layers([], 2) == (1,)
    assert candidate_layers([3, 1, 3], 4) == (1, 3)
