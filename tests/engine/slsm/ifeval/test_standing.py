"""IFEval's instructions as sentences: each is read back as the check that it stands for, in every wording."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from engine.slsm.checks.checks import Check, parse_check
from engine.slsm.controllers.rule_controller import RuleController
from engine.slsm.state import SemanticState
from engine.slsm.turns import Turn
from tests.bench.ifeval.standing import KNOWN, standing_instruction
from tests.exactly import exactly

CASES: tuple[tuple[str, dict[str, Any], str, str], ...] = (
    ("punctuation:no_comma", {}, "One and two.", "One, two."),
    ("change_case:english_lowercase", {}, "all small, 2.", "Not small."),
    ("change_case:english_capital", {}, "ALL LARGE, 2.", "NOT LARGe."),
    ("keywords:existence", {"keywords": ["sea", "ship"]}, "A ship at Sea.", "A ship on land."),
    ("keywords:existence", {"keywords": ["cat"]}, "My cat.", "My dog."),
    ("keywords:forbidden_words", {"forbidden_words": ["sea", "ship"]}, "A boat.", "A ship on land."),
    ("keywords:forbidden_words", {"forbidden_words": ["rock"]}, "A stone, rocky.", "A Rock."),
    ("keywords:frequency", {"keyword": "sea", "frequency": 2, "relation": "at least"}, "Sea to sea.", "A sea."),
    ("keywords:frequency", {"keyword": "sea", "frequency": 2, "relation": "less than"}, "A sea.", "Sea to sea."),
    ("length_constraints:number_words", {"num_words": 10, "relation": "at least"}, "w " * 10, "w " * 9),
    ("length_constraints:number_words", {"num_words": 10, "relation": "less than"}, "w " * 9, "w " * 10),
    ("length_constraints:number_sentences", {"num_sentences": 3, "relation": "less than"}, "A b. C d.", "A. B. C."),
    ("length_constraints:number_sentences", {"num_sentences": 3, "relation": "at least"}, "A. B. C.", "A b. C d."),
    ("detectable_format:number_bullet_lists", {"num_bullets": 2}, "* a\n* b", "* a\n* b\n* c"),
    ("detectable_format:number_bullet_lists", {"num_bullets": 2}, "Two:\n- a\n- b", "1. a\n2. b"),
    ("detectable_format:number_bullet_lists", {"num_bullets": 1}, "* a", "* a\n* b"),
    ("detectable_format:json_format", {}, '{"a": 1}', "a: 1"),
    ("detectable_format:json_format", {}, '```json\n{"a": 1}\n```', 'Here: ```json\n{"a": 1}\n```'),
    ("detectable_format:title", {}, "<<A walk>>\nIt was cold.", "# A walk\nIt was cold."),
    ("startend:end_checker", {"end_phrase": "Is it? I can help."}, "Yes. Is it? I can help.", "Is it? I can help. No."),
    ("startend:end_checker", {"end_phrase": "Peace!"}, "So it is. Peace!", "Peace! So it is."),
    ("startend:quotation", {}, '"All of it."', '"All" of it.'),
    ("language:response_language", {"language": "de"}, "Ich weiß nicht, wo er wohnt.", "I do not know where he lives."),
)  # fmt: skip


def wordings(kind: str, given: dict[str, Any]) -> set[str]:
    found = {standing_instruction(kind, given, Random(seed)) for seed in range(30)}
    assert None not in found
    return {sentence for sentence in found if sentence}


def test_every_kind_is_tried() -> None:
    assert {kind for kind, *_ in CASES} == set(KNOWN)


@pytest.mark.parametrize(("kind", "given", "kept", "broken"), CASES)
def test_a_sentence_tells_a_kept_answer_from_a_broken_one(
    kind: str, given: dict[str, Any], kept: str, broken: str
) -> None:
    assert len(wordings(kind, given)) >= 2
    for sentence in wordings(kind, given):
        check = parse_check(sentence)
        assert check is not None, sentence
        assert check.holds(kept) and not check.holds(broken), sentence


@pytest.mark.parametrize(("kind", "given", "kept", "broken"), CASES)
def test_the_rules_read_it_and_check_the_same(
    kind: str, given: dict[str, Any], kept: str, broken: str
) -> None:
    """What the memory keeps of the user's sentence decides as the sentence does."""
    for sentence in wordings(kind, given):
        turns = [Turn(f"For this whole conversation: {sentence}", "Okay."), Turn("Name a fruit.")]
        state = SemanticState()
        for count in (1, 2):
            found = RuleController().update(state, turns[:count]).state
            assert isinstance(found, SemanticState)
            state = found
        (constraint,) = state.constraints
        check = parse_check(constraint.text)
        assert isinstance(check, Check), constraint.text
        assert check.holds(kept) and not check.holds(broken), constraint.text
        assert bool(RuleController().detect(state, turns, broken).conflicts), sentence
        assert not RuleController().detect(state, turns, kept).conflicts, sentence


@pytest.mark.parametrize(
    ("kind", "given"),
    (
        ("detectable_format:constrained_response", {}),
        ("language:response_language", {"language": "kn"}),
        ("length_constraints:number_words", {"num_words": 900, "relation": "at least"}),
        ("length_constraints:number_sentences", {"num_sentences": 61, "relation": "less than"}),
        ("keywords:frequency", {"keyword": "sea", "frequency": 1, "relation": "less than"}),
    ),
)
def test_what_no_check_knows_or_no_chat_holds_is_left_out(kind: str, given: dict[str, Any]) -> None:
    assert standing_instruction(kind, given, Random(0)) is None


@pytest.mark.parametrize(
    ("kind", "given", "wrong"),
    (
        ("keywords:existence", {}, "`keywords` is None, not a list of texts"),
        (
            "keywords:forbidden_words",
            {"forbidden_words": ["a", ""]},
            "`forbidden_words` is ['a', ''], not a list of texts",
        ),
        (
            "length_constraints:number_words",
            {"relation": "about", "num_words": 20},
            "`relation` is 'about', not `at least` or `less than`",
        ),
        (
            "length_constraints:number_words",
            {"relation": "at least", "num_words": "20"},
            "`num_words` is '20', not a whole number from 1",
        ),
        (
            "detectable_format:number_bullet_lists",
            {"num_bullets": 0},
            "`num_bullets` is 0, not a whole number from 1",
        ),
        ("startend:end_checker", {"end_phrase": " "}, "`end_phrase` is ' ', not a text"),
    ),
)
def test_a_wrong_field_is_named(kind: str, given: dict[str, Any], wrong: str) -> None:
    with pytest.raises(ValueError, match=exactly(wrong)):
        standing_instruction(kind, given, Random(0))
