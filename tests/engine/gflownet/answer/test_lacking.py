"""What is told of answers that are missing or cut."""

from __future__ import annotations

from engine.events import EvidenceAnswered
from engine.gflownet.answer.answer_stage import lacking


def answer(number: int, failure: str = "", cut: bool = False) -> EvidenceAnswered:
    return EvidenceAnswered(
        sample_id=f"q{number}", method="gflownet", question="who?", golds=["ann"], answer="" if failure else "ann",
        hit=not failure, recall=0.0 if failure else 1.0, triples=1, prompt_tokens=3, cut=cut, failure=failure,
    )  # fmt: skip


def test_all_that_is_lacking_is_counted_and_the_first_is_named() -> None:
    found = [answer(0), answer(1, "too long"), answer(2, cut=True), answer(3, "filtered"), answer(4, "empty")]
    counts, warnings = lacking(found, "answer.max_new_tokens")
    assert counts == {"unanswered": 3, "cut": 1}
    assert warnings == [
        "3 of 5 answers are missing and count as misses; the first is q1: too long",
        "1 of 5 answers were cut at the limit of tokens: raise answer.max_new_tokens",
    ]


def test_nothing_is_told_of_whole_answers() -> None:
    assert lacking([answer(0), answer(1)], "answer.max_new_tokens") == ({}, [])
