"""The figures of a comparison against scipy, against plain resampling and against counting by hand."""

from __future__ import annotations

import random

import numpy as np
import pytest
from scipy import stats

from engine.comparison.figures import Pair, cell, figures
from engine.comparison.items import Arm, Item
from engine.comparison.pairing import Paired, pair_items
from engine.comparison.remarks import _items


def item(name: str, score: float | None, right: bool | None = None, tokens: int | None = None) -> Item:
    return Item(
        name, name, name, score, score == 1.0 if right is None and score is not None else right, tokens
    )


def pairs_of(a: list[float], b: list[float]) -> list[Pair]:
    return [(item(str(i), x), item(str(i), y)) for i, (x, y) in enumerate(zip(a, b, strict=True))]


def test_against_scipy_and_plain_resampling() -> None:
    rng = random.Random(4)
    a = [float(rng.random() < 0.5) for _ in range(150)]
    b = [x if rng.random() < 0.7 else float(rng.random() < 0.8) for x in a]
    found = figures(pairs_of(a, b), seed=0)
    only_a = sum(x > y for x, y in zip(a, b, strict=True))
    only_b = sum(x < y for x, y in zip(a, b, strict=True))
    assert only_a != only_b and found.cells is not None and found.cells[1:3] == (only_a, only_b)
    assert found.p == pytest.approx(stats.binomtest(only_b, only_a + only_b).pvalue, rel=1e-9)
    apart = [y - x for x, y in zip(a, b, strict=True)]
    draws = [sum(rng.choices(apart, k=len(apart))) / len(apart) for _ in range(4_000)]
    low, high = np.quantile(draws, [0.025, 0.975])
    assert found.difference == pytest.approx(float(np.mean(apart)))
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.012)


def test_by_hand() -> None:
    """Seven pairs: 3 right in both, 1 only in A, 3 only in B: p is 2 (1 + 4) / 2^4 = 0.625."""
    a, b = [1.0, 1, 1, 1, 0, 0, 0], [1.0, 1, 1, 0, 1, 1, 1]
    found = figures(pairs_of(a, b), seed=0)
    assert found.cells == (3, 1, 3, 0) and found.n == 7
    assert found.difference == pytest.approx(2 / 7) and found.p == pytest.approx(0.625)


def test_means_and_tokens_of_either_run() -> None:
    """Tokens are taken where both have them, of what both have judged: A spends 10 and 30, B 16 and 28."""
    a = [
        item("p", 1.0, tokens=10),
        item("q", 0.0, tokens=30),
        item("r", 1.0),
        item("s", 0.0, tokens=500),
        item("t", None, tokens=999),
    ]
    b = [item("p", 1.0, tokens=16), item("q", 1.0, tokens=28), item("r", 1.0, tokens=900), item("s", 1.0),
         item("t", 1.0, tokens=999)]  # fmt: skip
    found = figures(list(zip(a, b, strict=True)), seed=0)
    assert (found.mean_a, found.mean_b, found.difference) == (0.5, 1.0, 0.5)
    assert (found.low, found.high) == (0.0, 1.0)
    assert (found.tokens_a, found.tokens_b) == (20, 22)
    assert figures(pairs_of([1.0], [0.0]), seed=0).tokens_a is None


def test_partial_scores_count_in_the_mean_and_not_as_right() -> None:
    found = figures(pairs_of([0.3, 1.0], [0.6, 1.0]), seed=0)
    assert found.cells == (1, 0, 0, 1) and found.difference == pytest.approx(0.15)


def test_what_was_not_judged_is_left_out() -> None:
    judged = pairs_of([1.0], [0.0])
    found = figures([*judged, (item("x", None), item("x", 1.0))], seed=0)
    assert found.n == 1 and found.cells == (0, 1, 0, 0)
    assert figures([(item("x", None), item("x", 1.0))], seed=0).n == 0
    right, wrong, unknown = item("x", 1.0), item("x", 0.0), item("x", None)
    pairs = [(a, b) for a in (right, wrong, unknown) for b in (right, wrong, unknown)]
    assert [cell(*pair) for pair in pairs] == [0, 1, None, 2, 3, None, None, None, None]


def test_means_of_draws_have_an_interval_and_no_test() -> None:
    drawn = [(Item(n, n, n, 0.4, None), Item(n, n, n, 0.6, None)) for n in "abc"]
    found = figures(drawn, seed=0)
    assert found.p is None and found.cells is None and found.difference == pytest.approx(0.2)


def test_items_are_paired_by_id_and_question_in_whatever_order() -> None:
    a, b = Arm("ESM", "esm", "eval", ""), Arm("ESM", "esm", "eval", "")
    for name, right in (("p", True), ("q", False), ("r", True), ("s", True), ("u", True)):
        a.items[name] = item(name, float(right))
    for name, right in (("s", False), ("q", False), ("p", True), ("t", True)):
        b.items[name] = item(name, float(right))
    b.items["r"] = Item("r", "another question", "another question", 0.0, False)
    paired = pair_items(a, b)
    assert [(x.id, x.right, y.right) for x, y in paired.pairs] == [
        ("p", True, True),
        ("q", False, False),
        ("s", True, False),
    ]
    assert (paired.only_a, paired.only_b, paired.other_question) == (1, 1, 1)
    assert [x.id for x, y in paired.pairs if cell(x, y) == 1] == ["s"]
    a.items["q"], b.items["p"] = item("q", None), item("p", None)
    a.items["t"] = b.items["t"] = item("t", None)
    assert (pair_items(a, b).unjudged, len(pair_items(a, b).pairs)) == (3, 4)


def test_few_items_are_few_that_were_judged() -> None:
    """Of 25 items 6 without a verdict leave 19, fewer than 20."""
    few = "fewer than 20 items: an interval from so few says little."
    arm, pairs = Arm("SLSM", "always", "slsm", ""), pairs_of([1.0] * 25, [0.0] * 25)
    remarks = [_items([(arm, Paired(pairs, 0, 0, 0, unjudged))]) for unjudged in (6, 5)]
    assert [f"SLSM: {few}" in lines for lines in remarks] == [True, False]
