"""Statistics against values known by hand."""

import numpy as np
import pytest

from engine.statistics import macro_bootstrap, mcnemar, paired_bootstrap
from engine.wilson import wilson


def test_mcnemar_by_hand() -> None:
    assert mcnemar([1, 1, 1, 0], [0, 0, 0, 1]) == pytest.approx(2 * 5 / 16)
    assert mcnemar([1, 0, 0, 0, 1], [0, 1, 1, 1, 1]) == pytest.approx(2 * 5 / 16), "two-sided"
    assert mcnemar([1, 0], [1, 0]) == 1.0 and mcnemar([1, 0], [0, 1]) == 1.0
    assert mcnemar(np.ones(200), np.zeros(200)) == pytest.approx(2 / 2**200)


def test_bootstrap_covers_the_normal_interval() -> None:
    a = np.array([1] * 60 + [0] * 40)
    b = np.array([0] * 30 + [1] * 10 + [0] * 60)
    interval = paired_bootstrap(a, b, seed=1)
    spread = 1.96 * (a - b).std() / 10
    assert interval.difference == pytest.approx((a - b).mean())
    assert interval.low == pytest.approx(interval.difference - spread, abs=0.02)
    assert interval.high == pytest.approx(interval.difference + spread, abs=0.02)
    assert paired_bootstrap([1, 1], [0, 0], seed=0).low == 1.0
    half = paired_bootstrap(a, b, seed=1, level=0.5)
    assert half.high - half.low == pytest.approx(2 * 0.6745 * (a - b).std() / 10, abs=0.02)
    graded = np.sqrt(np.arange(50.0))
    first, again, other = (paired_bootstrap(graded, graded[::-1], seed) for seed in (1, 1, 2))
    assert first == again and (first.low, first.high) != (other.low, other.high)


def test_groups_weigh_alike_and_are_resampled_each_within_itself() -> None:
    """Group one: 6 of 10; group two: 30 of 40. Variances of the two means are added, and halved twice."""
    groups = [[1] * 6 + [0] * 4, [1] * 30 + [0] * 10]
    found = macro_bootstrap(groups, seed=1)
    assert found.difference == pytest.approx((0.6 + 0.75) / 2)
    spread = 1.96 * np.sqrt(0.6 * 0.4 / 10 + 0.75 * 0.25 / 40) / 2
    assert (found.low, found.high) == pytest.approx((0.675 - spread, 0.675 + spread), abs=0.015)
    half = macro_bootstrap(groups, seed=1, level=0.5)
    assert half.high - half.low == pytest.approx(2 * 0.6745 / 1.96 * spread, abs=0.02)
    certain = macro_bootstrap([[1, 1, 1], [0]], seed=1)
    assert (certain.low, certain.difference, certain.high) == (0.5, 0.5, 0.5)
    graded = [np.sqrt(np.arange(50.0)), np.arange(5.0)]
    first, again, other = (macro_bootstrap(graded, seed) for seed in (1, 1, 2))
    assert first == again and (first.low, first.high) != (other.low, other.high)
    assert first == macro_bootstrap(graded, 1, resamples=10_000, level=0.95), (
        "recorded intervals are of these"
    )
    pairs = graded[0], graded[0][::-1]
    assert paired_bootstrap(*pairs, 1) == paired_bootstrap(*pairs, 1, resamples=10_000, level=0.95)


@pytest.mark.parametrize(
    ("a", "b"),
    [*(([1.0, 0.0], b) for b in ([1.0], [[1.0], [0.0]], [[1.0, 0.0]], 1.0)), ([], []), ([[1.0]], [[0.0]])],
)
def test_what_is_not_in_pairs_is_refused(a: list[float], b: object) -> None:
    for compared in (lambda: paired_bootstrap(a, b, 0), lambda: mcnemar(a, b)):  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="two lists of the same length"):
            compared()


def test_wilson_by_hand() -> None:
    assert wilson(0, 0) == (0.0, 1.0)
    assert wilson(5, 10) == pytest.approx((0.2366, 0.7634), abs=1e-4)


@pytest.mark.parametrize(("k", "n"), [(0, 7), (0, 21), (1, 9), (9, 9), (16, 16), (40, 41), (117, 200)])
def test_wilson_s_ends_are_where_the_score_test_turns(k: int, n: int) -> None:
    """The shares p at which |k/n - p| is 1.96 standard errors of p (Wilson 1927), 0 and 1 being the last."""
    for end, last in zip(wilson(k, n), (0.0, 1.0), strict=True):
        assert 0 <= end <= 1
        if k / n == last:
            assert end == pytest.approx(last, abs=1e-12)
        else:
            assert abs(k / n - end) == pytest.approx(1.959964 * np.sqrt(end * (1 - end) / n))
