"""Scores and the comparison with a length cap."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import DataError
from engine.evolution.answers import AnswerRecord
from engine.evolution.comparison import cap_for, compare
from engine.evolution.score import Outcome, score


def test_composite_by_hand() -> None:
    """0.4 / (1 + 50/100) + 0.6 * 3/4."""
    found = score([Outcome(20, True), Outcome(40, True), Outcome(60, True), Outcome(80, False)], 100.0)
    assert found.mean_tokens == 50
    assert found.composite == pytest.approx(0.4 / 1.5 + 0.6 * 0.75)


def test_failures_of_the_judge_are_left_out_and_counted() -> None:
    found = score([Outcome(10, True), Outcome(10, None)], 100.0)
    assert (found.answers, found.judged, found.correctness) == (2, 1, 1.0)
    with pytest.raises(DataError, match="could be judged"):
        score([Outcome(10, None)], 100.0)


def test_where_the_judge_cannot_tell_there_is_no_score() -> None:
    """Counted apart from its failures, in nobody's favour; its length still counts."""
    found = score([Outcome(10, True), Outcome(50, None, True), Outcome(30, None)], 100.0)
    assert (found.answers, found.judged, found.cannot_tell, found.failures) == (3, 1, 1, 1)
    assert (found.correctness, found.mean_tokens) == (1.0, 30)
    with pytest.raises(DataError, match="on 2 the judge cannot tell, on 1 it failed"):
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


def test_comparison_judges_the_cut_answers() -> None:
    """A cap that cuts an answer asks the judge again; one that does not keeps the verdict."""
    baseline = [record(40, True), record(10, True)]
    best = [record(10, True), record(10, True)]
    asked: list[int] = []

    def judge(found: AnswerRecord, tokens: list[int]) -> bool:
        asked.append(len(tokens))
        return False

    none, cap, evolved = compare(baseline, best, judge, 100.0, seed=0)
    assert cap.cap == 10 and asked == [10]
    assert (none.correctness, cap.correctness, evolved.correctness) == (1.0, 0.5, 1.0)
    assert (cap.difference, evolved.difference) == (-0.5, 0.0)
    assert evolved.composite > cap.composite
