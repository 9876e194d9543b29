"""Yes, no, up and down: the words and forms by which they are said."""

from __future__ import annotations

import pytest

from engine.evolution.judges.polarity import (
    _explicit,
    _implied,
    _is_turned,
    direction_of,
    polarity_of,
    polarity_of_gold,
)
from engine.evolution.judges.words import content

UP = (
    "increased rises rose risen grows grew grown growth improved improvements gained up upward high higher more "
    "positive expanded expansion strong stronger strengthened healthy better favorable accelerated widened"
)
DOWN = (
    "decreased declined falls fell fallen drops dropped shrinks shrank shrunk worsened worse deteriorated reduced "
    "reduction down downward lower low less negative losses contract contraction weak weaker weakened unhealthy poor "
    "unfavorable decelerated slowed narrowed"
)


@pytest.mark.parametrize(("words", "way"), [(UP, 1), (DOWN, -1)])
def test_a_word_points_up_or_down(words: str, way: int) -> None:
    assert {word: direction_of(f"It is {word}.") for word in words.split()} == dict.fromkeys(
        words.split(), way
    )


def test_words_that_point_both_ways_or_nowhere_have_no_direction() -> None:
    assert [direction_of(text) for text in ("It rose and fell.", "It is blue.", "")] == [0, 0, 0]


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        ("Yes, it did.", "yes"), ("yes", "yes"), ("NO.", "no"), ("Did it? No; it fell.", ""), ("It grew: yes.", "yes"),
        ("It grew. No!", "no"), ("The answer is yes.", "yes"), ('The answer would be "no", they say.', ""),
        ("The answer would be 'no", "no"), ("So, yes.", "yes"), ("so no", "no"), ("**Yes**", ""),
        ("Yes it did.", ""), ("They said yes.", ""), ("None, it says.", ""), ("Yes, or rather: no.", "no"),
        ("No, that is, yes.", "yes"),
    ],
)  # fmt: skip
def test_a_yes_or_no_that_stands_by_itself_is_explicit(sentence: str, said: str) -> None:
    """The last one counts."""
    assert _explicit([sentence]) == said


@pytest.mark.parametrize(
    ("gold", "said"),
    [("Yes, by 3%.", "yes"), ("NO", "no"), ("The no of it", "no"), ("Nothing", ""), ("", "")],
)
def test_a_gold_answer_begins_with_yes_or_no(gold: str, said: str) -> None:
    assert polarity_of_gold(gold) == said


CLAUSES = (
    ", ", "; ", ": ", " but ", " although ", " though ", " while ", " whereas ", " despite ", " because ", " since ",
    " even if ", " given that ", " as it ", " indicating ",
)  # fmt: skip
SEASONAL = {"trade", "season"}


@pytest.mark.parametrize("separator", CLAUSES)
def test_a_negation_counts_in_the_clause_that_speaks_of_what_is_asked(separator: str) -> None:
    assert set(content("trade seasonal")) != SEASONAL, "the stems are those of `content`"
    asked = set(content("Is trade seasonal?"))
    assert _implied(asked, [f"Trade is seasonal{separator}oaks do not grow."]) == "yes"
    assert _implied(asked, [f"Oaks do grow{separator}trade is not seasonal."]) == "no"


@pytest.mark.parametrize(
    "words",
    [
        "no", "not", "never", "none", "neither", "nor", "without", "cannot", "unlikely", "unable", "hardly", "fails",
        "failed", "lacks", "lacked",
    ],
)  # fmt: skip
def test_each_negation_denies(words: str) -> None:
    assert _implied(set(content("Is trade seasonal?")), [f"Trade is {words} seasonal."]) == "no"


@pytest.mark.parametrize(
    "words", ["not only", "not just", "not merely", "no doubt", "no less", "whether or not", "Not Only"]
)
def test_what_is_no_negation_denies_nothing(words: str) -> None:
    assert _implied(set(content("Is trade seasonal?")), [f"Trade is {words} seasonal."]) == "yes"


@pytest.mark.parametrize(
    ("asked", "said", "turned"),
    [
        ("healthy", "unhealthy", True), ("active", "inactive", True), ("possible", "impossible", True),
        ("compliant", "noncompliant", True), ("unhealthy", "healthy", True), ("active", "active", False),
        ("fair", "unfair", True), ("tax", "untax", False), ("rise", "fell", True), ("fall", "grew", True),
        ("rise", "grew", False),
        ("growth accelerate", "growth decelerate", True), ("growth", "growth fell", False), ("blue", "fell", False),
    ],
)  # fmt: skip
def test_the_opposite_of_a_word_turns_what_is_said(asked: str, said: str, turned: bool) -> None:
    assert _is_turned(set(content(asked)), said) is turned


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("Yes. Trade is not seasonal.", "yes"),
        ("Trade is seasonal. Oaks grow. Therefore trade is not seasonal. It rains.", "no"),
        ("Trade is seasonal. Trade is not seasonal at all.", "yes"),
        ("Oaks grow. Elms are tall. Trade is not seasonal.", "no"),
        ("Oaks grow. Trade is seasonal. Trade is not.", "no"),
        ("Oaks grow. Trade is not seasonal. Elms are tall.", "no"),
        ("Oaks grow.", ""),
    ],
    ids=[
        "said",
        "concluded",
        "claimed first",
        "said last",
        "less of it said last",
        "said anywhere",
        "not said",
    ],
)
def test_what_says_most_plainly_comes_first(answer: str, said: str) -> None:
    assert polarity_of("Is trade seasonal?", answer) == said


@pytest.mark.parametrize(
    ("question", "answer", "said"),
    [
        ("Say whether trade is seasonal.", "Trade is not seasonal.", "no"),
        ("Is trade seasonal? Look at boats.", "Boats do not float. Trade is seasonal.", "yes"),
        ("Is Oaks Elms?", "Oaks is not Elms.", "no"),
        ("Is trade in Oaks seasonal in 2020?", "Oaks did not grow in 2020.", ""),
    ],
    ids=["no question mark", "an instruction", "nothing but names", "names and periods"],
)
def test_what_is_asked_is_the_claim_of_the_question(question: str, answer: str, said: str) -> None:
    """Without names and periods, where anything else is asked."""
    assert polarity_of(question, answer) == said
