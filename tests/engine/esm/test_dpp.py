"""The incremental greedy equals a literal one that evaluates determinants of whole submatrices."""

import numpy as np
import pytest

from engine.esm.library.dpp import GreedyDpp
from engine.esm.library.select_stage import control_point_floor


def _literal(keys, quality, weight, epsilon, size):
    unit = keys / np.linalg.norm(keys, axis=1, keepdims=True)
    gram = unit @ unit.T

    def objective(chosen):
        sub = gram[np.ix_(chosen, chosen)] + epsilon * np.eye(len(chosen))
        return np.log1p(quality[chosen]).sum() + weight * np.linalg.slogdet(sub)[1]

    chosen: list[int] = []
    for _ in range(size):
        rest = [i for i in range(len(keys)) if i not in chosen]
        chosen.append(max(rest, key=lambda i: (objective([*chosen, i]), -i)))
    return chosen, objective(chosen)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("weight", [0.0, 0.5, 3.0])
def test_greedy_equals_whole_determinants(seed: int, weight: float) -> None:
    rng = np.random.default_rng(seed)
    keys, quality = rng.standard_normal((30, 6)).astype(np.float32), rng.uniform(0.01, 1, 30)
    greedy = GreedyDpp(keys.astype(np.float64), quality, weight, 1e-3, 12)  # type: ignore[arg-type]
    picks = [greedy.take(greedy.best()) for _ in range(12)]
    chosen, objective = _literal(keys.astype(np.float64), quality, weight, 1e-3, 12)
    assert [pick.index for pick in picks] == chosen
    assert picks[-1].objective == pytest.approx(objective, abs=1e-6)


def test_a_double_is_taken_last_when_diversity_counts() -> None:
    keys = np.array([[1, 0], [1, 0], [0, 1]], dtype=np.float32)
    greedy = GreedyDpp(keys, np.array([0.9, 0.89, 0.1]), 1.0, 1e-3, 3)
    picks = [greedy.take(greedy.best()) for _ in range(3)]
    assert [pick.index for pick in picks] == [0, 2, 1]
    assert picks[2].max_similarity == pytest.approx(1.0)


def test_equal_items_are_taken_in_order_whatever_the_rounding_of_their_length() -> None:
    """Computed self-products of unit vectors differ by a rounding."""
    rng = np.random.default_rng(0)
    keys = np.linalg.qr(rng.standard_normal((12, 12)))[0].astype(np.float32)
    units = keys.astype(np.float64) / np.linalg.norm(keys.astype(np.float64), axis=1, keepdims=True)
    assert len({float(unit @ unit) for unit in units}) > 1, "no rounding here: the case does not occur"
    greedy = GreedyDpp(keys, np.ones(12), 1.0, 1e-3, 1)
    assert greedy.best() == 0
    assert len(set(greedy.gains())) == 1


def test_the_nearest_of_those_taken_before() -> None:
    """(3, 4) is at 0.6 of (1, 0), (-3, 4) at -0.6 of it and at 0.28 of (3, 4); before the first there is none."""
    keys = np.array([[1, 0], [3, 4], [-3, 4]], dtype=np.float32)
    for order, nearest in (((0, 1, 2), (-1.0, 0.6, 0.28)), ((0, 2, 1), (-1.0, -0.6, 0.6))):
        greedy = GreedyDpp(keys, np.ones(3), 1.0, 1e-3, 3)
        assert [greedy.take(index).max_similarity for index in order] == pytest.approx(nearest)


def test_a_key_without_a_direction_is_taken_last() -> None:
    """It is like nothing, not even itself: its place on the diagonal is epsilon alone."""
    greedy = GreedyDpp(np.array([[0, 0], [1, 0]], dtype=np.float32), np.ones(2), 1.0, 0.5, 2)
    assert greedy.gains().tolist() == pytest.approx([np.log(2 * 0.5), np.log(2 * 1.5)])
    assert [greedy.take(greedy.best()).index for _ in range(2)] == [1, 0]


def test_of_candidates_that_are_as_good_the_earlier_is_a_control_point_s_best() -> None:
    alike = [{"control_point_m": 1, "quality": quality} for quality in (0.2, 0.5, 0.5)]
    assert control_point_floor(alike, 1) == [1] and control_point_floor(alike, 2) == [1, 2]
