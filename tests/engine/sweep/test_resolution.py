"""Which differences show, with so many items and so many settings."""

from __future__ import annotations

import numpy as np
import pytest

from engine.sweep.resolution import resolution


def draws(shares: list[float], n: int, seed: int = 0) -> list[list[float]]:
    """Right and wrong of each setting on the same items; the harder an item, the fewer settings get it right."""
    hardness = np.random.default_rng(seed).random(n)
    return [[float(item < share) for item in hardness] for share in shares]


def test_a_large_difference_shows_and_a_small_one_does_not() -> None:
    found = resolution(draws([0.5, 0.52, 0.9], 200))
    assert (found.n, found.best, found.tied) == (200, 2, ())
    assert resolution(draws([0.5, 0.88, 0.9], 100)).tied == (1,)
    assert (
        resolution(draws([0.5, 0.88, 0.9], 20)).smallest > resolution(draws([0.5, 0.88, 0.9], 200)).smallest
    )  # type: ignore[operator]


def test_of_settings_that_differ_by_chance_alone_none_is_told_from_the_best() -> None:
    wrong = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        scores = (rng.random((20, 60)) < 0.7).astype(float).tolist()
        wrong += len(resolution(scores).tied) < 19
    assert wrong <= 6  # 95% of the time, over all pairs at once


def test_the_best_of_many_equal_ones_looks_too_good_by_what_is_said() -> None:
    excess, said = [], []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        scores = (rng.random((20, 60)) < 0.7).astype(float)
        excess.append(scores.mean(axis=1).max() - 0.7)
        said.append(resolution(scores.tolist()).optimism)
    assert 0.5 * np.mean(excess) < np.mean(said) < 1.2 * np.mean(excess)


def test_settings_that_answer_the_same_cannot_be_told_apart() -> None:
    found = resolution([[1.0, 0.0, 1.0]] * 3, best=1)
    assert (found.best, found.tied, found.smallest, found.optimism) == (1, (0, 2), None, 0.0)
    alone = resolution([[1.0, 0.0]])
    assert (alone.n, alone.best, alone.tied) == (2, 0, ())


def test_a_setting_that_gets_everything_wrong_is_told_from_one_that_gets_everything_right() -> None:
    """No resample deviates where all items differ alike; of three items the exact test cannot tell (p = 1/4)."""
    right, wrong = [1.0] * 20, [0.0] * 20
    assert resolution([right, wrong]).tied == ()
    assert resolution([wrong, right, [*right[1:], 0.0], right]).tied == (2, 3)
    assert resolution([right[:3], wrong[:3]]).tied == (1,)


def test_of_a_handful_of_items_that_differ_the_exact_test_has_to_agree() -> None:
    """5 of 200 items alone are 2.3 standard errors; McNemar's p is 2 / 2^5 = 0.06. Of 6 it is 0.03."""
    right = [1.0] * 200
    assert resolution([right, [*right[5:], *[0.0] * 5]]).tied == (1,)
    assert resolution([right, [*right[6:], *[0.0] * 6]]).tied == ()


def test_of_tokens_the_fewest_are_the_best() -> None:
    assert resolution([[10.0, 12.0] * 9, [50.0, 61.0] * 9], lower_is_better=True).best == 0


def test_two_settings_are_told_apart_from_two_standard_errors_on() -> None:
    """With one pair the largest deviation is that pair's own: 1.96 standard errors of the paired difference."""
    one, other = np.random.default_rng(1).random((2, 300))
    found = resolution([one.tolist(), (one + 0.3 * other - 0.2).tolist()])
    assert found.smallest == pytest.approx(1.96 * float(np.std(0.3 * other)) / 300**0.5, rel=0.08)
    assert found.best == 0 and found.n == 300


def test_settings_that_answer_the_same_do_not_lower_the_difference_that_shows() -> None:
    """Of six pairs three have no spread; the others need the same."""
    one = [1.0] * 60 + [0.0] * 40
    two = [0.0] * 20 + [1.0] * 80
    alone, with_twin = resolution([one, two]), resolution([one, two, two, two])
    assert alone.smallest is not None and with_twin.smallest == pytest.approx(alone.smallest, rel=0.02)


def test_the_difference_that_shows_is_that_of_the_middle_pair() -> None:
    """Pairs that spread by 3, 4 and 5; three at once hold together within some 2.3 standard errors."""
    one, other = np.tile([1.0, -1.0], 200), np.tile([1.0, 1.0, -1.0, -1.0], 100)
    found = resolution([np.zeros(400).tolist(), (3 * one).tolist(), (3 * one + 4 * other).tolist()])
    assert found.smallest is not None and 2.1 < found.smallest * 20 / 4 < 2.5
