"""Templates of prompts: the question alone is filled in."""

from __future__ import annotations

import pytest

from engine.errors import ConfigError
from engine.tasks.example import TaskExample
from engine.tasks.prompts import DATASETS, TEMPLATES, render_user_prompt

EXAMPLE = TaskExample("e", "How many {x}?", "3")


def test_the_question_is_filled_in() -> None:
    assert render_user_prompt("Q: {question} {{A}}", EXAMPLE) == "Q: How many {x}? {A}"


STEPS = "{question}\n\nThink step by step, and leave a blank line between steps. End with "


@pytest.mark.parametrize(
    ("kind", "template"),
    [
        ("generated", "{question}"),
        ("function", "{question}"),
        ("gsm8k", "{question}\n\nPlease reason step by step, and put your final answer within \\boxed{{}}."),
        ("math500", f"{STEPS}the final answer in \\boxed{{{{}}}}."),
        ("aime", f"{STEPS}the final answer, an integer from 0 to 999, in \\boxed{{{{}}}}."),
        ("arc-c", f"{STEPS}`The answer is ` and the letter of the right choice."),
        ("exact", f"{STEPS}`Answer: ` and the answer alone."),
    ],
)
def test_what_a_model_is_asked(kind: str, template: str) -> None:
    """Every figure of a data set is one under its prompt."""
    assert TEMPLATES[kind] == template and (kind not in DATASETS or DATASETS[kind] == template)


@pytest.mark.parametrize(
    ("template", "allowed"),
    [
        ("Q: {question", "balanced braces (expected '}' before end of string)"),
        ("Q: {answer}", "the placeholder {question} and no other"),
        ("Q: {question} {answer}", "the placeholder {question} and no other"),
        ("Q", "the placeholder {question} and no other"),
    ],
)
def test_another_template_is_refused(template: str, allowed: str) -> None:
    with pytest.raises(ConfigError) as caught:
        render_user_prompt(template, EXAMPLE)
    assert list(map(str, caught.value.problems)) == [
        f"prompt.template: found {template!r}, expected {allowed}"
    ]
