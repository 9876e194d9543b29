"""Answers are compared as the field's benchmarks compare them."""

from __future__ import annotations

import pytest

from engine.gflownet.answer.answer_match import named, normalise


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("The  Beatles!", "beatles"),
        ("J.R.R. Tolkien", "jrr tolkien"),
        ("An apple, a day", "apple day"),
        ("rock 'n' roll\nUnited States of America", "rock n roll united states of america"),
        ("theatre", "theatre"),
        ("ernest_i_of_the_isles_", "ernest i of isles"),
        ("The", ""),
    ],
)
def test_normal_form(text: str, normal: str):
    assert normalise(text) == normal


@pytest.mark.parametrize(
    ("golds", "text", "found"),
    [
        (["The Hague"], "hague", ["The Hague"]),
        (["U.S. Senate"], "- the US senate.", ["U.S. Senate"]),
        (["Washington, D.C."], "Washington DC", ["Washington, D.C."]),
        (["Paris", "London"], "LONDON", ["London"]),
        (["united_kingdom"], "The United Kingdom.", ["united_kingdom"]),
        (["Paris"], "unknown", []),
        (["The", "?"], "who knows", []),
        (["The"], "The Band", ["The"]),
        ([], "Paris", []),
    ],
)
def test_which_gold_answers_a_text_names(golds: list[str], text: str, found: list[str]):
    assert named(golds, text) == found
