"""Statistics against values known by hand."""

import numpy as np
import pytest

from engine.statistics import mcnemar, paired_bootstrap
from engine.wilson import wilson


def test_mcnemar_by_hand() -> None:
    assert mcnemar([1, 1, 1, 0], [0, 0, 0, 1]) == pytest.approx(2 * 5 / 16)
    assert mcnemar([1, 0], [1, 0]) == 1.0
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


def test_wilson_by_hand() -> None:
    assert wilson(0, 0) == (0.0, 1.0)
    assert wilson(5, 10) == pytest.approx((0.2366, 0.7634), abs=1e-4)
