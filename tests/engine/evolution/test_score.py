"""Scores, the baselines that are chosen by them, and the comparison."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import DataError
from engine.evolution.answers import AnswerRecord
from engine.evolution.scoring.baselines import best_of, tried_caps
from engine.evolution.scoring.comparison import Method, cap_for, compare, composite_difference
from engine.evolution.scoring.score import Outcome, score
from tests.exactly import exactly


def test_composite_by_hand() -> None:
    """0.4 / (1 + 50/100) + 0.6 * 3/4."""
    found = score([Outcome(20, True), Outcome(40, True), Outcome(60, True), Outcome(80, False)], 100.0)
    assert found.mean_tokens == 50
    assert found.composite == pytest.approx(0.4 / 1.5 + 0.6 * 0.75)


def test_the_standard_error_by_hand() -> None:
    """Composites of 1 and 0.4 have a variance of 0.18; those that were not judged do not count."""
    judged = [Outcome(0, True), Outcome(0, False)]
    assert score([*judged, Outcome(50, None)], 100.0).error == pytest.approx(math.sqrt(0.18 / 2))
    assert score(judged[:1], 100.0).error == 0.0


def test_failures_of_the_judge_are_left_out_and_counted() -> None:
    found = score([Outcome(10, True), Outcome(10, None)], 100.0)
    assert (found.answers, found.judged, found.correctness) == (2, 1, 1.0)
    with pytest.raises(
        DataError,
        match=exactly(
            "none of 1 answers could be judged: on 0 the judge cannot tell, on 1 it failed (evolution.judge): see"
            " why in the notices, correct that and resume: the answers are kept; or start a run with "
            "`evolution.judge.kind: auto`, an offline judge"
        ),
    ):
        score([Outcome(10, None)], 100.0)


def test_where_the_judge_cannot_tell_there_is_no_score() -> None:
    """Counted apart from its failures, in nobody's favour; its length still counts."""
    found = score([Outcome(10, True), Outcome(50, None, True), Outcome(30, None)], 100.0)
    assert (found.answers, found.judged, found.cannot_tell, found.failures) == (3, 1, 1, 1)
    assert (found.correctness, found.mean_tokens) == (1.0, 30)
    with pytest.raises(
        DataError,
        match=exactly(
            "none of 3 answers could be judged: on 2 the judge cannot tell, on 1 it failed (evolution.judge): see"
            " why in the notices, correct that and resume: the answers are kept; or start a run with "
            "`evolution.judge.kind: auto`, an offline judge"
        ),
    ):
        score([Outcome(10, None, True)] * 2 + [Outcome(10, None)], 100.0)


@given(st.lists(st.integers(0, 200), min_size=1, max_size=60), st.floats(1, 200))
def test_cap_is_the_largest_that_keeps_the_mean(lengths: list[int], mean: float) -> None:
    cap = cap_for(lengths, mean)

    def capped(at: int) -> float:
        return sum(min(length, at) for length in lengths) / len(lengths)

    assert cap >= 1
    assert cap == 1 or capped(cap) <= mean + 1e-9
    assert cap >= max(lengths) or capped(cap + 1) > mean


def record(tokens: int, correct: bool) -> AnswerRecord:
    return AnswerRecord(
        iteration=0, split="validation", example_id=str(tokens), answer="", token_ids=list(range(tokens)),
        correct=correct, reasoning="",
    )  # fmt: skip


def cut(records: Sequence[AnswerRecord], cap: int) -> list[Outcome]:
    """An answer that loses a token is wrong."""
    return [Outcome(min(len(r.token_ids), cap), r.correct and len(r.token_ids) <= cap) for r in records]


def test_the_cap_is_chosen_by_the_composite() -> None:
    """Four caps up to the longest answer. One answer rambles: without it, the others stay right."""
    answers = [*(record(10, True) for _ in range(9)), record(40, True)]
    tried = tried_caps("cap", answers, 4, cut, scale=10.0)
    assert [one.cap for one in tried] == [10, 20, 30, 40]
    by_hand = [score(cut(answers, cap), 10.0).composite for cap in (10, 20, 30, 40)]
    assert [one.score.composite for one in tried] == by_hand
    chosen = best_of(tried)
    assert chosen is not None and chosen.score.composite == max(by_hand)
    assert best_of([]) is None


def methods(*correct: int, tokens: tuple[int, ...] = (40, 20, 30)) -> list[Method]:
    """100 questions: no processor, a request for short answers, and the best deltas, with so many right answers."""
    names = ("no_processor", "brief_prompt", "best")
    return [
        Method(name, [Outcome(length, place < right) for place in range(100)])
        for name, right, length in zip(names, correct, tokens, strict=True)
    ]


def test_differences_are_paired() -> None:
    none, brief, best = compare(methods(90, 80, 90), 100.0, seed=0)
    assert (none.difference, none.tokens_difference, best.ahead) == (None, None, None)
    assert brief.difference == pytest.approx(-0.1) and brief.p == pytest.approx(2 * 0.5**10)
    assert brief.low is not None and brief.high is not None and -0.17 < brief.low < -0.1 < brief.high < 0
    assert (best.difference, best.tokens_difference, best.tokens_low, best.tokens_high) == (0, -10, -10, -10)
    assert brief.ahead == pytest.approx(brief.composite - best.composite)
    # The same answers are right, and lengths are all equal: every resample has the same difference.
    assert [none.ahead, none.ahead_low, none.ahead_high] == pytest.approx([0.4 / 1.4 - 0.4 / 1.3] * 3)


def test_the_interval_of_the_composite_agrees_with_that_of_its_parts() -> None:
    """With lengths all equal the composite's interval is 0.6 times the one of correctness."""
    a = [Outcome(10, place % 3 > 0) for place in range(200)]
    b = [Outcome(10, place % 4 > 0) for place in range(200)]
    found = composite_difference(a, b, 100.0, seed=1)
    own = [float(bool(x.correct)) - float(bool(y.correct)) for x, y in zip(a, b, strict=True)]
    deviation = 0.6 * statistics.pstdev(own) / math.sqrt(200)
    assert found.difference == pytest.approx(0.6 * statistics.mean(own))
    assert found.high - found.low == pytest.approx(2 * 1.96 * deviation, rel=0.05)


def test_unjudged_answers_take_no_part_in_differences_of_correctness() -> None:
    """Their lengths do."""
    plain = Method("no_processor", [Outcome(10, True), Outcome(20, None, True), Outcome(30, False)])
    best = Method("best", [Outcome(5, True), Outcome(5, None, True), Outcome(5, None)])
    row = compare([plain, best], 100.0, seed=0)[1]
    assert (row.n, row.cannot_tell, row.difference, row.tokens_difference) == (1, 1, 0.0, -15.0)
