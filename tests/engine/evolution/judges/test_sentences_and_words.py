"""What the judges take a text apart into."""

from __future__ import annotations

import pytest

from engine.evolution.judges.sentences import conclusion, deciding, first_claim, sentences
from engine.evolution.judges.words import content, denies, words

PARTS = [
    "To determine the margin, we divide.", "Income was 4.5 million.", "Therefore it grew.", "Costs fell.",
    "- So the answer is yes.",
]  # fmt: skip
TOLD = " ".join(PARTS[:4]) + f"\n{PARTS[4]}"


def test_sentences_end_at_stops_and_at_lines_of_a_list() -> None:
    assert sentences(TOLD) == PARTS
    assert sentences("He said “no.” Then he left.\n\nNext   one\nsame") == [
        "He said “no.", "Then he left.", "Next one same",
    ]  # fmt: skip
    assert sentences(" \n\n ") == []


def test_the_conclusion_begins_with_the_last_sentence_that_concludes() -> None:
    assert conclusion(PARTS) == ["- So the answer is yes."]
    assert conclusion(PARTS[:4]) == ["Therefore it grew.", "Costs fell."]
    assert conclusion(PARTS[:2]) == []


def test_the_first_claim_is_no_announcement() -> None:
    assert first_claim(TOLD) == "Income was 4.5 million."
    assert first_claim("Here is what we know:") == ""


def test_the_first_claim_and_the_end_decide() -> None:
    assert deciding(PARTS) == ["Income was 4.5 million.", "- So the answer is yes."]
    assert deciding(PARTS[:2]) == ["Income was 4.5 million."], "each once"
    assert deciding(["It rose.", "Costs fell.", "Taxes too."]) == ["It rose.", "Taxes too."]
    assert deciding([]) == []


def test_words_have_no_articles_and_no_short_not() -> None:
    assert words("The firm DIDN'T pay an’ it can’t.") == ["firm", "did", "not", "pay", "it", "ca", "not"]


@pytest.mark.parametrize(
    ("word", "stem"),
    [
        ("operations", "oper"), ("operating", "oper"), ("operates", "oper"), ("loss", "loss"), ("losses", "loss"),
        ("paid", "paid"), ("gains", "gain"), ("uses", "use"), ("used", "used"), ("tied", "tied"), ("cry", "cry"),
    ],
)  # fmt: skip
def test_endings_are_cut_where_three_letters_stay(word: str, stem: str) -> None:
    assert content(word) == [stem]


def test_words_without_meaning_are_left_out() -> None:
    assert content("The firm's debts were about 4 per year") == ["firm", "debt", "4", "year"]


def test_a_negation_is_one_of_the_words() -> None:
    assert denies(["it", "hardly", "grew"]) and not denies(["it", "grew"])
