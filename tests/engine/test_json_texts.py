"""Texts inside of what JSON holds."""

from __future__ import annotations

from engine.json_texts import changed_texts, whole


def test_every_text_is_changed_and_nothing_else() -> None:
    value = {"a": ["b", 1, None, {"c": True}], "d": "e"}
    assert changed_texts(value, str.upper) == {"A": ["B", 1, None, {"C": True}], "D": "E"}
    assert changed_texts("a", str.upper) == "A" and changed_texts(2.5, str.upper) == 2.5


def test_halves_of_letters_become_question_marks() -> None:
    assert whole("a\ud800b\udfff") == "a?b?" and whole("ä \U0001f600") == "ä \U0001f600"
