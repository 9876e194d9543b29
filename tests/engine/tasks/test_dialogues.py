"""Generated dialogues: four axes, every distance, nothing in the test that was in training, an exact judge."""

from __future__ import annotations

import json
import random
import re
from collections import Counter

import pytest

from engine.slsm.judges.judge import ExactAnswerJudge
from engine.slsm.multichallenge import Criterion, parse_dialogues
from engine.slsm.note import HEADER
from engine.tasks.generated.dialogues.dialogue import FORGETS, MOST_BETWEEN, Dialogue, draw_dialogue, forgets
from engine.tasks.generated.dialogues.memories import AXES, EDITING, INSTRUCTION, _fact
from engine.tasks.generated.dialogues.records import generate_dialogues, multichallenge_jsonl
from engine.tasks.generated.dialogues.words import CLOSING_WORDS, ITEMS, NAMES, Side, draw_word, of_side
from tests.training.dialogue_answers import answer_to, notes_of
from tests.training.dialogue_notes import draw_note

SIDES: tuple[Side, ...] = ("train", "test")


def test_axes_and_distances_come_in_turn() -> None:
    found = generate_dialogues(4 * 6 * 3, 0)
    counts = Counter((one.memory.axis, one.between) for one in found)
    assert set(counts) == {(axis, between) for axis in AXES for between in range(MOST_BETWEEN + 1)}
    assert set(counts.values()) == {3}
    assert len({one.id for one in found}) == len(found)
    assert {one.memory.kind for one in found} == {"end", "capitals", "avoid", "fact", "agreed", "list"}


def test_a_smaller_set_begins_a_larger_one() -> None:
    ids = [one.id for one in generate_dialogues(50, 3)]
    assert [one.id for one in generate_dialogues(20, 3)] == ids[:20]
    assert [one.id for one in generate_dialogues(50, 4)] != ids


@pytest.mark.parametrize("side", SIDES)
def test_the_exact_judge_passes_who_remembers_and_no_other(side: Side) -> None:
    judge = ExactAnswerJudge()
    for number, one in enumerate(generate_dialogues(300, 1, side)):
        criterion = Criterion(one.memory.check, one.memory.passes)
        rng = random.Random(number)
        assert judge.judge(criterion, answer_to(one, rng, remembers=True)).passed, one
        assert not judge.judge(criterion, answer_to(one, rng, remembers=False)).passed, one


def wordings(dialogue: Dialogue) -> set[str]:
    """What the user says of things to remember, with the words that fill it taken out."""
    told = [said for memory in dialogue.memories for said, _ in memory.opening]
    if dialogue.memory.axis != INSTRUCTION:
        told.append(dialogue.question)
    fillers = {word.strip(".,:?").casefold() for note in notes_of(dialogue) for word in note.split()}
    plain = [
        " ".join("_" if word.strip(".,:?").casefold() in fillers | _ALL else word for word in text.split())
        for text in told
    ]
    return {text for text in plain if set(text.split()) != {"_"}}


_ALL = {word.casefold() for word in (*CLOSING_WORDS, *NAMES, *ITEMS)}


def test_no_word_to_remember_and_no_wording_is_in_both_splits() -> None:
    train, test = generate_dialogues(1500, 0, "train"), generate_dialogues(400, 0, "test")
    for words in (CLOSING_WORDS, NAMES, ITEMS, tuple(map(str, range(10, 100)))):
        ours, theirs = set(of_side(words, "test")), set(of_side(words, "train"))
        assert not ours & theirs and ours | theirs == set(words)
        if words[0] in CLOSING_WORDS:
            ended = {one.note.split()[-1] for d in test for one in d.memories if one.kind == "end"}
            assert ended <= ours
    names = {one.note.split()[-1] for d in test for one in d.memories if one.kind in ("fact", "agreed")}
    taught = {one.note.split()[-1] for d in train for one in d.memories if one.kind in ("fact", "agreed")}
    assert names and not names & taught
    ours = {text for one in test for text in wordings(one)}
    theirs = {text for one in train for text in wordings(one)}
    assert len(ours) > 20 and not ours & theirs, sorted(ours & theirs)[:5]


def test_most_words_of_training_are_made_up() -> None:
    rng = random.Random(0)
    drawn = [draw_word(NAMES, "train", rng) for _ in range(2000)]
    assert 0.55 < sum(word not in NAMES for word in drawn) / 2000 < 0.75
    assert all(word[0].isupper() for word in drawn)
    assert not set(drawn) & set(of_side(NAMES, "test"))


@pytest.mark.parametrize("between", range(MOST_BETWEEN + 3))
def test_distance_decides_how_often_it_is_forgotten(between: int) -> None:
    rng = random.Random(between)
    share = sum(forgets(between, rng) for _ in range(4000)) / 4000
    assert share == pytest.approx(FORGETS[min(between, MOST_BETWEEN)], abs=0.04)


def test_made_up_words_have_vowels_and_consonants_in_turn() -> None:
    """Four to seven letters, or one more where two come at once; never three of a kind."""
    rng = random.Random(1)
    made = [word for word in (draw_word(ITEMS, "train", rng) for _ in range(1500)) if word not in ITEMS]
    assert {len(word) for word in made} == {4, 5, 6, 7, 8}
    assert not [word for word in made if re.search("[aeiou]{3}|[^aeiou]{3}", word)]
    begin = sum(word[0] in "aeiou" for word in made) / len(made)
    assert 0.25 < begin < 0.35
    assert all(word.islower() and word.isascii() for word in made)


def test_what_is_not_given_of_a_dialogue_is_drawn() -> None:
    """Every axis and every distance; in four of ten dialogues a second memory, mentioned first."""
    rng = random.Random(0)
    drawn = [draw_dialogue("train", rng) for _ in range(600)]
    assert {one.memory.axis for one in drawn} == set(AXES)
    assert {one.between for one in drawn} == set(range(MOST_BETWEEN + 1))
    assert 0.34 < sum(len(one.memories) == 2 for one in drawn) / 600 < 0.46
    for one in drawn:
        opening = [said for memory in reversed(one.memories) for said, _ in memory.opening]
        assert [said for said, _ in one.turns[: len(opening)]] == opening
        assert len(one.turns) == len(opening) + one.between and one.question == one.memory.question
    near = [draw_dialogue("test", rng, AXES[0], between=0) for _ in range(20)]
    assert {(one.memory.axis, one.between) for one in near} == {(AXES[0], 0)}


def test_two_memories_are_of_two_kinds_and_at_most_one_of_them_is_an_instruction() -> None:
    """The second one may be any but capitals."""
    pairs = {
        (first.kind, second.kind)
        for one in (draw_dialogue("train", random.Random(number)) for number in range(1500))
        if len(one.memories) == 2
        for first, second in [one.memories]
    }
    rules, others = {"end", "avoid"}, {"fact", "agreed", "list"}
    assert pairs == {
        *((first, second) for first in others for second in (others | rules) - {first}),
        *((first, second) for first in (*rules, "capitals") for second in others),
    }  # fmt: skip


def test_facts_are_names_in_seven_of_ten_and_else_numbers_of_two_digits() -> None:
    rng = random.Random(0)
    values = [_fact("train", rng).note.split()[-1] for _ in range(1500)]
    numbers = {int(value) for value in values if value.isdigit()}
    assert 0.27 < sum(value.isdigit() for value in values) / 1500 < 0.33
    assert numbers == set(of_side(range(10, 100), "train")) and len(numbers) == 72


@pytest.mark.parametrize("side", SIDES)
def test_nothing_that_has_to_be_said_is_forbidden(side: Side) -> None:
    for one in generate_dialogues(2000, 2, side):
        forbidden = [memory.note.split()[-1] for memory in one.memories[1:] if memory.kind == "avoid"]
        answer = answer_to(one, random.Random(0), remembers=True)
        assert not [word for word in forbidden if word in answer.casefold().rstrip(".").split()]


def test_notes_have_all_there_is_to_remember() -> None:
    rng = random.Random(0)
    longer = 0
    for one in generate_dialogues(300, 5, "train"):
        note = draw_note(one, rng)
        assert note.startswith(f"{HEADER}\n")
        assert all(told in note for told in notes_of(one))
        if "\n- " in note:
            longer += note.count("\n- ") > len(notes_of(one))
            order = [
                note.find(title) for title in ("Constraints:", "User facts/preferences:", "Latest versions:")
            ]
            there = [place for place in order if place >= 0]
            assert there == sorted(there)
            assert ("Latest versions:" in note) or not any(memory.axis == EDITING for memory in one.memories)
    assert longer > 20


def test_the_file_is_multichallenges() -> None:
    data = multichallenge_jsonl(24, 0)
    found = parse_dialogues(data, "generated", "generated", 100)
    assert len(found.conversations) == len(found.criteria) == 24
    assert set(found.axes) == set(AXES)
    for line, one in zip(data.splitlines(), generate_dialogues(24, 0), strict=True):
        record = json.loads(line)
        assert list(record) == ["QUESTION_ID", "AXIS", "CONVERSATION", "TARGET_QUESTION", "PASS_CRITERIA"]
        assert record["CONVERSATION"][-1] == {"role": "user", "content": one.question}
        assert len(record["CONVERSATION"]) == 2 * len(one.turns) + 1
