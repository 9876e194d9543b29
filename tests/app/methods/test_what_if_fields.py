"""What the fields of what-ifs read, and which numbers they refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from app.methods.what_if import number, of_list, optional, strengths, whole, words_of, yes_or_no


@pytest.mark.parametrize(
    ("read", "values"),
    [
        (number(0, 100), {"0": 0.0, "100": 100.0, "0.5": 0.5}),
        (whole(1, 1000), {"1": 1, "1000": 1000}),
        (whole(), {"0": 0, "1000000": 1_000_000}),
        (optional(whole()), {"": None, "7": 7}),
        (yes_or_no, {"0": False, "1": True}),
        (strengths, {"1": [1.0], "0.5, -2 1e2": [0.5, -2.0, 100.0]}),
        (words_of, {"": [], "a, b  c": ["a", "b", "c"]}),
        (lambda text: of_list(text, ["a", "b"]), {"1": "a", "2": "b"}),
    ],
)
def test_what_is_read(read: Callable[[str], Any], values: dict[str, Any]) -> None:
    assert {text: read(text) for text in values} == values


@pytest.mark.parametrize(
    ("read", "text", "why"),
    [
        (number(0, 100), "-0.1", "expected 0 to 100, found -0.1"),
        (number(0, 100), "100.1", "expected 0 to 100, found 100.1"),
        (number(), "nan", "expected -1000 to 1000, found nan"),
        (number(), "much", "expected a number, found 'much'"),
        (whole(1, 1000), "0", "expected a whole number from 1 to 1,000, found '0'"),
        (whole(1, 1000), "1001", "expected a whole number from 1 to 1,000, found '1001'"),
        (whole(), "1.5", "expected a whole number from 0 to 1,000,000, found '1.5'"),
        (whole(), "\u0663", "expected a whole number from 0 to 1,000,000, found '\u0663'"),
        (yes_or_no, "2", "expected 0 or 1, found '2'"),
        (strengths, " ", "a strength is missing, such as 1.0"),
        (lambda text: of_list(text, ["a", "b"]), "0", "the list has no 0; it has 2 entries"),
        (lambda text: of_list(text, ["a", "b"]), "3", "the list has no 3; it has 2 entries"),
    ],
)
def test_what_is_refused(read: Callable[[str], Any], text: str, why: str) -> None:
    with pytest.raises(ValueError) as refused:
        read(text)
    assert str(refused.value) == why
