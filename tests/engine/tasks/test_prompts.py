"""Templates of prompts: the question alone is filled in."""

from __future__ import annotations

import pytest

from engine.errors import ConfigError
from engine.tasks.example import TaskExample
from engine.tasks.prompts import render_user_prompt

EXAMPLE = TaskExample("e", "How many {x}?", "3")


def test_the_question_is_filled_in() -> None:
    assert render_user_prompt("Q: {question} {{A}}", EXAMPLE) == "Q: How many {x}? {A}"


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
