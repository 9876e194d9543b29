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


@pytest.mark.parametrize(
    "beginning",
    [
        "Therefore", "Thus", "Hence", "So", "Consequently", "Accordingly", "Overall", "In summary", "In conclusion",
        "In short", "To summarize", "To summarise", "As a result", "This indicates that", "This means", "This shows",
        "This suggests", "This represents", "That is", "The answer is that", "Final answer:", "  - **thus",
    ],
)  # fmt: skip
def test_a_sentence_concludes_by_its_beginning(beginning: str) -> None:
    """`Soon` and `Overallocated` begin with no such word."""
    last = f"{beginning} it grew."
    assert conclusion(["Costs fell.", last, "Taxes too."]) == [last, "Taxes too."]
    assert conclusion(["Soon it grew.", "Overallocated."]) == []


@pytest.mark.parametrize(
    "text",
    [
        *(f"To {word} it we divide." for word in (
            "determine", "calculate", "find", "answer", "see", "assess", "compute", "compare", "estimate", "evaluate",
            "identify",
        )),
        "Here is what we know.", "Here are the figures.", "According to the sheet:", "- Here is a list.",
    ],
)  # fmt: skip
def test_an_announcement_is_no_claim(text: str) -> None:
    assert first_claim(f"{text} It grew.") == "It grew." or first_claim(f"{text}\n\nIt grew.") == "It grew."
    assert deciding([text, "It grew.", "It rains."]) == ["It grew.", "It rains."]


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
        ("national", "national"), ("operational", "oper"), ("relations", "rel"), ("nations", "nation"),
        ("located", "loc"), ("rates", "rat"), ("relate", "rel"), ("purity", "pur"), ("savings", "sav"),
        ("carried", "carr"), ("parties", "part"), ("firms", "firm"), ("strike", "strik"), ("party", "part"),
        ("paid", "paid"), ("gains", "gain"), ("uses", "use"), ("used", "used"), ("tied", "tied"), ("cry", "cry"),
    ],
)  # fmt: skip
def test_endings_are_cut_where_three_letters_stay(word: str, stem: str) -> None:
    assert content(word) == [stem]


def test_words_without_meaning_are_left_out() -> None:
    assert content("The firm's debts were about 4 per year") == ["firm", "debt", "4", "year"]


def test_a_negation_is_one_of_the_words() -> None:
    assert denies(["it", "hardly", "grew"]) and not denies(["it", "grew"])
