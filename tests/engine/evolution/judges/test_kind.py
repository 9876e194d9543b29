"""What kind of answer a gold answer is, and which of its figures count."""

from __future__ import annotations

import pytest

from engine.evolution.judges.kind import read_gold


@pytest.mark.parametrize(
    ("question", "gold", "kind"),
    [
        ("How much is it?", "87% oaks elms firs", "figures"),
        ("How much is it?", "87% oaks elms firs yews", "text"),
        ("How many oaks, elms, firs and yews?", "12 oaks, elms, firs and yews", "figures"),
        ("Which share is it?", "87%", "figures"),
        ("Which share is it?", "87% oaks", "text"),
        ("Are there oaks?", "Yes, elms firs yews limes", "yes or no"),
        ("Are there oaks?", "No, elms firs yews limes planes", "text"),
        ("Are there any oaks?", "Yes, limes", "text"),
        ("Are there any oaks?", "No, limes", "yes or no"),
        ("Did it rise or fall?", "It rose.", "direction"),
        ("Did it rise or fall?", "Oaks rose.", "text"),
        ("Is it 12?", "12", "text"),
    ],
)
def test_the_kind_depends_on_how_much_a_gold_answer_says_beside_what_is_compared(
    question: str, gold: str, kind: str
) -> None:
    """Three new words beside figures, four beside yes or no; words of the question are not new."""
    assert read_gold(question, gold).kind == kind


@pytest.mark.parametrize(
    ("question", "gold", "figures"),
    [
        ("Of 40 shops, how many closed?", "12 of 40", ["12"]),
        ("How many closed?", "12 in 2020", ["12"]),
        ("When was it?", "2020 and 2021", ["2020", "2021"]),
        ("Was it later than 2020?", "2020 and 2021", ["2021"]),
        ("Of 2 million, how many?", "2 and 3 million", ["2", "3 million"]),
    ],
)
def test_figures_that_the_question_says_are_not_compared_nor_years_beside_others(
    question: str, gold: str, figures: list[str]
) -> None:
    assert [figure.text for figure in read_gold(question, gold).figures] == figures
