"""Our verdicts beside IFEval's own rules: they agree, but for what is listed here with its reason."""

from __future__ import annotations

import importlib.util
import re
from random import Random
from typing import Any

import pytest

from engine.slsm.checks.checks import parse_check
from tests.bench.bench_ifeval_verdicts import variants
from tests.bench.ifeval.standing import KNOWN, standing_instruction
from tests.engine.slsm.ifeval.independent import PARTS, counts_sentences, follows

pytestmark = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in PARTS),
    reason="not installed: tests/engine/slsm/ifeval/independent.py has the command",
)

TEXTS = (
    "The sea is wide, and the harbour is small. Ships wait there for the wind, day after day.",
    "Yes.",
    "Here is a plan for a week:\n\n* Monday: sail to the island\n* Tuesday: rest\n* Wednesday: sail back\n\nEnjoy it!",
    "1. Boil the water\n2. Add the tea\n3. Wait, then drink it\n",
    "**Title**\n\nA lighthouse keeper counts the waves. He knows each of them by name! Do they know his name?\n\nNo.",
    '{"answer": "a json object", "items": [1, 2]}',
    "THE KEEPER SAID: GO HOME, ALL OF YOU. THE STORM IS NEAR.",
    "all of this is written in small letters, as the user of the harbour radio likes it.",
    "<<A title>>\n\n\"Quoted,\" she said, and that was it.",
    "Der Leuchtturm steht am Hafen, und niemand weiß, wer ihn gebaut hat und wozu.",
)  # fmt: skip
GIVEN: tuple[tuple[str, dict[str, Any]], ...] = (
    ("punctuation:no_comma", {}),
    ("change_case:english_lowercase", {}),
    ("change_case:english_capital", {}),
    ("keywords:existence", {"keywords": ["harbour", "wind"]}),
    ("keywords:forbidden_words", {"forbidden_words": ["keeper", "tea"]}),
    ("keywords:frequency", {"relation": "at least", "keyword": "name", "frequency": 2}),
    ("keywords:frequency", {"relation": "less than", "keyword": "the", "frequency": 3}),
    ("length_constraints:number_words", {"relation": "at least", "num_words": 16}),
    ("length_constraints:number_words", {"relation": "less than", "num_words": 20}),
    ("length_constraints:number_sentences", {"relation": "at least", "num_sentences": 3}),
    ("length_constraints:number_sentences", {"relation": "less than", "num_sentences": 4}),
    ("detectable_format:number_bullet_lists", {"num_bullets": 3}),
    ("detectable_format:json_format", {}),
    ("detectable_format:title", {}),
    ("startend:end_checker", {"end_phrase": "Is there anything else?"}),
    ("startend:end_checker", {"end_phrase": "Peace!"}),
    ("startend:quotation", {}),
    ("language:response_language", {"language": "de"}),
)  # fmt: skip


def differs_on_purpose(kind: str, given: dict[str, Any], text: str) -> str:
    """Why our verdict may be another; "" where it may not."""
    words = given.get("keywords") or [given.get("keyword", "")]
    if kind in ("keywords:existence", "keywords:frequency") and any(
        re.search(rf"\w{word}|{word}\w", text, re.I) for word in words
    ):
        return "they find a word inside another one; a user who asks for a word does not mean that"
    if kind == "detectable_format:number_bullet_lists" and re.search(r"^[*-] *$", text, re.M):
        return "they count a bullet with nothing behind it"
    if kind == "language:response_language" and len(text.split()) < 4:
        return "they guess the language of a word or two"
    if kind == "detectable_format:json_format" and text.startswith("```\n") and not text.endswith("```"):
        return "they take a fence that is never closed"
    if kind == "change_case:english_lowercase" and text.startswith("der leucht"):
        return "they want English, too, which our sentence does not say"
    if kind == "change_case:english_capital" and text.startswith("DER LEUCHT"):
        return "they want English, too, which our sentence does not say"
    if kind.startswith("change_case:") and len(text.split()) < 5:
        return "they guess the language of a word or two"
    if kind == "length_constraints:number_sentences" and "\n" in text:
        return "a line without a full stop is a sentence here, and a part of the next one there"
    return ""


def test_every_kind_is_compared() -> None:
    assert {kind for kind, _ in GIVEN} == set(KNOWN)


@pytest.mark.parametrize(("kind", "given"), GIVEN)
def test_the_verdicts_agree(kind: str, given: dict[str, Any]) -> None:
    """On the texts, on the texts made to keep the instruction, and on those that just miss it."""
    if kind == "length_constraints:number_sentences" and not counts_sentences():
        pytest.skip("no sentence model: independent.py has the command")
    sentence = standing_instruction(kind, given, Random(0))
    assert sentence is not None
    check = parse_check(sentence)
    assert check is not None
    verdicts: set[bool] = set()
    for text in TEXTS:
        for one in variants(kind, given, text):
            if not differs_on_purpose(kind, given, one):
                theirs = follows(kind, given, one)
                assert check.holds(one) == theirs, one
                verdicts.add(theirs)
    assert verdicts == {True, False}, "both are tried"
