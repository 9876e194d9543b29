"""The official VQA accuracy: its leave-one-out mean, and its normal form of answers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.pool.vqa.answer_words import normalise_answer
from engine.pool.vqa.vqa import official_vqa_accuracy
from tests.exactly import exactly


def left_out_one_by_one(answer: str, annotations: list[str]) -> float:
    """The definition, read literally."""
    scores = []
    for number in range(len(annotations)):
        others = annotations[:number] + annotations[number + 1 :]
        scores.append(min(1, sum(other == answer for other in others) / 3))
    return sum(scores) / len(scores)


@given(st.lists(st.sampled_from(["red", "blue", "green"]), min_size=1, max_size=12))
def test_it_is_the_mean_over_annotators_left_out(annotations: list[str]):
    assert official_vqa_accuracy("red", annotations) == pytest.approx(left_out_one_by_one("red", annotations))


@pytest.mark.parametrize(("agreeing", "score"), [(0, 0.0), (1, 0.3), (2, 0.6), (3, 0.9), (4, 1.0), (10, 1.0)])
def test_with_ten_annotators_scores_are_those_known_from_the_challenge(agreeing: int, score: float):
    assert official_vqa_accuracy("7", ["7"] * agreeing + ["1"] * (10 - agreeing)) == pytest.approx(score)


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("The  Two\tdogs\n", "2 dogs"),
        ("none", "0"),
        ("an apple", "apple"),
        ("dont know", "don't know"),
        ("couldnt've", "couldn't've"),
        ("couldn'tve", "couldn't've"),
        ("he's", "he's"),
        ("hed", "he'd"),
        ("wed", "wed"),
        ("1,000", "1000"),
        ("t-shirt", "t shirt"),
        ("yes!", "yes"),
        ("wait, what?", "wait what"),
        ("3.5", "3.5"),
        ("st. louis.", "st louis"),
        ("", ""),
        ("the", ""),
        ("somebody'd", "somebodyd"),
        ("x" + "." * 40, "x" + "." * 8),
        ("b /c x/y", "b c xy"),  # a sign behind a space is left out wherever it stands
    ],
)
def test_normal_form(text: str, normal: str):
    assert normalise_answer(text) == normal


@given(st.text(alphabet="abe 19.,'-?!", max_size=12))
def test_spelling_that_does_not_count_does_not_count(text: str):
    people = [text] * 9 + ["something else"]
    same = official_vqa_accuracy(f"  The {text} ".upper(), people)
    assert same == official_vqa_accuracy(f"the {text}", people)


@pytest.mark.parametrize(
    ("answer", "people", "score"),
    [
        ("yes", "yes", 1),
        (" YES\n", "Yes", 1),
        ("yes.", "yes", 0),
        ("the dog", "dog", 0),
        ("2", "two", 0),
        ("two", "two", 1),
        ("ice\tcream", "ice cream", 1),
    ],
)
def test_where_all_wrote_the_same_nothing_is_normalised(answer: str, people: str, score: int):
    """As the official script does it; with one dissenter all of these are right."""
    assert official_vqa_accuracy(answer, [people] * 10) == score
    assert official_vqa_accuracy(answer, [people] * 9 + ["unclear"]) == 1


def test_no_annotation_is_an_error():
    with pytest.raises(ValueError, match=exactly("no annotations")):
        official_vqa_accuracy("red", [])
