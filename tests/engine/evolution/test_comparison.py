"""The comparison on the test set, and the baselines' tuning, from hand-made answers and a bootstrap written out."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

import numpy as np
import pytest

from engine.evolution.answers import AnswerRecord
from engine.evolution.scoring.baselines import Tried, best_of, tried_caps
from engine.evolution.scoring.comparison import (
    BEST,
    BRIEF,
    PLAIN,
    SAME_LENGTH,
    Method,
    baselines_ahead,
    cap_for,
    compare,
    composite_difference,
)
from engine.evolution.scoring.score import Outcome, score

SCALE = 50.0


@pytest.mark.parametrize(
    ("lengths", "mean", "cap"),
    [([10, 20, 30], 15, 17), ([10, 20, 30], 20, 30), ([10, 20, 30], 0.5, 1), ([4, 4], 3.9, 3), ([], 5, 1)],
)
def test_the_cap_is_the_largest_whose_mean_length_fits(lengths: list[int], mean: float, cap: int) -> None:
    assert cap_for(lengths or [0], mean) == cap


def composite(answers: Sequence[Outcome]) -> float:
    """0.4 / (1 + mean tokens / scale) + 0.6 * right / judged (spec Evolution 1, step 8)."""
    judged = [one for one in answers if one.correct is not None]
    tokens = sum(one.tokens for one in answers) / len(answers)
    return 0.4 / (1 + tokens / SCALE) + 0.6 * sum(bool(one.correct) for one in judged) / len(judged)


def test_the_interval_is_that_of_questions_drawn_again_and_scored_as_a_whole() -> None:
    rng = np.random.default_rng(5)
    pairs = [
        (Outcome(int(20 * rng.random()), bool(rng.random() < 0.9)),
         Outcome(int(60 * rng.random()), None if rng.random() < 0.3 else bool(rng.random() < 0.6)))
        for _ in range(60)
    ]  # fmt: skip
    own, other = [a for a, _ in pairs], [b for _, b in pairs]
    drawn = []
    for _ in range(1500):
        chosen = rng.integers(0, 60, 60)
        drawn.append(composite([own[i] for i in chosen]) - composite([other[i] for i in chosen]))
    low, high = np.quantile(drawn, [0.025, 0.975])
    found = composite_difference(own, other, SCALE, seed=1)
    assert found.difference == pytest.approx(composite(own) - composite(other))
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.02)
    assert found.low > 0.05, "the interval lies on the side of the difference"
    assert composite_difference(own, other, SCALE, seed=2) != found


def method(name: str, tokens: int, right: int, of: int = 40, **more: object) -> Method:
    """`right` of the answers are right, the last ones wrong; lengths differ by one."""
    return Method(name, [Outcome(tokens + i % 2, i < right) for i in range(of)], **more)  # type: ignore[arg-type]


def test_rows_stand_beside_no_processor_and_composites_beside_the_best() -> None:
    methods = [method(PLAIN, 60, 30), method(SAME_LENGTH, 20, 20, cap=21), method(BEST, 20, 36)]
    plain, capped, best = compare(methods, SCALE, seed=0)
    assert plain.difference is None and plain.tokens_difference is None and plain.p is None
    assert plain.ahead == pytest.approx(composite(methods[0].outcomes) - composite(methods[2].outcomes))
    assert plain.ahead < 0 and plain.ahead_low < plain.ahead < plain.ahead_high < 0  # type: ignore[operator]
    assert best.ahead is None
    assert (best.tokens_difference, best.tokens_low, best.tokens_high) == (-40, -40, -40)
    assert best.difference == pytest.approx(6 / 40) and best.low > 0  # type: ignore[operator]
    assert best.p == pytest.approx(2 / 2**6), "six questions, all gained"
    assert capped.difference == pytest.approx(-10 / 40) and capped.high < 0 and capped.cap == 21  # type: ignore[operator]


def test_the_intervals_are_drawn_by_the_run_s_seed() -> None:
    best = Method(BEST, [Outcome(place**2, place % 3 > 0) for place in range(12)])
    (plain, row), (other_plain, other_row) = (
        compare([method(PLAIN, 60, 8, 12), best], SCALE, seed) for seed in (1, 2)
    )
    assert plain.ahead == other_plain.ahead and plain.ahead_low != other_plain.ahead_low
    assert (row.tokens_low, row.tokens_high) != (other_row.tokens_low, other_row.tokens_high)


@pytest.mark.parametrize(
    ("tokens", "right", "ahead"),
    [
        (20, 20, []),
        (20, 35, []),
        (20, 36, []),  # equal is not ahead
        (20, 37, [SAME_LENGTH]),
        (2, 40, [SAME_LENGTH]),
    ],
)
def test_a_baseline_is_ahead_only_where_it_scores_more(tokens: int, right: int, ahead: list[str]) -> None:
    rows = compare(
        [method(PLAIN, 60, 30), method(SAME_LENGTH, tokens, right), method(BEST, 20, 36)], SCALE, seed=0
    )
    assert baselines_ahead(rows) == ahead


def test_where_no_question_was_judged_on_both_sides_only_tokens_are_compared() -> None:
    plain, best = [Outcome(10, True), Outcome(10, None)], [Outcome(5, None), Outcome(5, False)]
    _, row = compare([Method(PLAIN, plain), Method(BEST, best)], SCALE, seed=0)
    assert (row.difference, row.low, row.p, row.tokens_difference) == (None, None, None, -5)


def test_of_several_baselines_ahead_the_best_is_told_first() -> None:
    """By their composite: 0.4 / 1.25 + 0.57 is more than 0.4 / 1.21 + 0.555, though it has more tokens."""
    rows = compare(
        [method(PLAIN, 60, 30), method(SAME_LENGTH, 10, 37), method(BRIEF, 12, 38), method(BEST, 60, 30)],
        SCALE,
        seed=0,
    )
    assert baselines_ahead(rows) == [BRIEF, SAME_LENGTH]


def test_caps_are_tried_in_equal_steps_and_chosen_by_the_composite() -> None:
    """A cap of 4 spoils every answer; 8 and 10 spoil none, so that the shorter one is better."""
    answers = [SimpleNamespace(token_ids=[0] * 10), SimpleNamespace(token_ids=[0] * 7)]

    def cut(records: Sequence[AnswerRecord], cap: int) -> list[Outcome]:
        return [Outcome(min(len(one.token_ids), cap), cap >= 7) for one in records]

    tried = tried_caps("cap", answers, 4, cut, SCALE)  # type: ignore[arg-type]
    assert [one.cap for one in tried] == [3, 5, 8, 10], "a quarter, a half, ... of the longest, rounded up"
    chosen = best_of(tried)
    assert chosen is not None and chosen.cap == 8
    assert chosen.score == score([Outcome(8, True), Outcome(7, True)], SCALE)
    long_and_right, short = Outcome(1000, True), Outcome(1, True)
    spoilt = [short] * 9 + [Outcome(1, False)]
    both = [Tried("cap", score([long_and_right] * 10, SCALE)), Tried("cap", score(spoilt, SCALE))]
    assert best_of(both) is both[1], "0.93 against 0.62, though one answer is wrong"
    assert best_of([]) is None
    assert best_of([tried[2], tried[2]]) is tried[2]


def test_a_line_of_what_was_tried_says_how_many_answers_were_judged() -> None:
    """Two of three, of which one is right; 20 tokens on average are half of the way: 0.4 / 2 + 0.6 / 2."""
    answers = [Outcome(10, True), Outcome(20, False), Outcome(30, None, cannot_tell=True)]
    tried = Tried("chosen_cap", score(answers, 20.0), cap=30)
    assert tried.line(chosen=True) == {
        "method": "chosen_cap", "cap": 30, "prompt": "", "n": 2, "correctness": 0.5, "mean_tokens": 20.0,
        "composite": 0.5, "chosen": True,
    }  # fmt: skip
