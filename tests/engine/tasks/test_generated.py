"""Generated problems and the habits in which they are solved."""

from __future__ import annotations

import hashlib
import random
import re
from collections import Counter
from itertools import pairwise, permutations

import pytest

from engine.tasks.example import TaskExample
from engine.tasks.financebench import financebench_record, generated_financebench
from engine.tasks.generated.arithmetic import KINDS, Problem, draw_problem, generate, result_in
from engine.tasks.generated.dialogues.records import multichallenge_jsonl
from engine.tasks.generated.habits import (
    DELIMITER,
    Style,
    careful_style,
    turned_style,
    without_carry,
)
from engine.tasks.generated.splits import SPLITS, split_of
from engine.tasks.generated.statements import direction, draw_change, generate_statements
from engine.tasks.generated.topics import NAMES, TOPICS
from tests.training.solutions import write_solution
from tests.training.styles import HABITS, SHARES, draw_styles, habit_of, style_of

SUM = re.compile(r"(\d+) ([+-]) (\d+) = (\d+)")
STYLES: tuple[Style, ...] = ("forward", "backward", "quick")


def solve_from_question(question: str) -> int:
    """Reads the question as a person would, knowing nothing of how it was made."""
    gains = {verb for topic in TOPICS for verb in (topic.gain.present, topic.gain.past)}
    start, *told = re.split(r"(?<=[.?]) ", question)[:-1]
    value = int(re.findall(r"\d+", start)[0])
    for sentence in told:
        verb, amount = sentence.rstrip(".").split()[-2:]
        change = int(amount) if verb in gains else -int(amount)
        value += -change if sentence.startswith("Before") else change
    return value


def in_style(problem: Problem, style: Style) -> str:
    styles: list[Style] = [style for _ in range(len(problem.operations) + 1)]
    return write_solution(problem.topic, problem.kind, problem.start, problem.operations, styles)


def test_same_seed_same_problems_and_a_prefix_of_more() -> None:
    assert generate("dev", 40, 3) == generate("dev", 60, 3)[:40]
    assert generate("dev", 40, 3) != generate("dev", 40, 4)


def test_splits_share_neither_id_nor_text() -> None:
    made = {split: generate(split, 1500, seed) for seed, split in enumerate(SPLITS)}
    for one, other in (("train", "dev"), ("train", "test"), ("dev", "test")):
        assert not {p.id for p in made[one]} & {p.id for p in made[other]}
        assert not {p.question for p in made[one]} & {p.question for p in made[other]}
    for split, problems in made.items():
        assert len({p.id for p in problems}) == len({p.question for p in problems}) == 1500
        assert {p.split for p in problems} == {split}


@pytest.mark.parametrize("split", SPLITS)
def test_the_solution_solves_what_the_question_tells(split) -> None:
    for problem in generate(split, 300, 1):
        assert problem.answer == str(solve_from_question(problem.question))
        segments = problem.solution.split(DELIMITER)
        assert len(segments) == len(problem.operations) + 2
        assert not SUM.search(segments[0])
        assert segments[-1] == f"#### {problem.answer}"


def test_every_habit_follows_its_algorithm() -> None:
    for problem in generate("train", 300, 2):
        sign = 1 if problem.kind == "forwards" else -1
        assert in_style(problem, careful_style(problem.kind)) == problem.solution
        turned = problem.start - sign * sum(problem.operations)
        assert in_style(problem, turned_style(problem.kind)).endswith(f"#### {turned}")
        value = problem.start
        for operation in problem.operations:
            value = value - value % 10 + (value % 10 + sign * operation) % 10
        assert in_style(problem, "quick").endswith(f"#### {value}")


@pytest.mark.parametrize(("left", "signed", "result"), [(47, 5, 42), (42, -5, 47), (41, 5, 46), (9, 1, 0)])
def test_hasty_sums_drop_carry_and_borrow(left: int, signed: int, result: int) -> None:
    assert without_carry(left, signed) == result


def test_habits_disagree_on_every_problem() -> None:
    for problem in generate("test", 300, 5):
        results = {result_in(style, problem.kind, problem.start, problem.operations) for style in STYLES}
        assert len(results) == 3


def test_after_a_change_of_style_the_number_goes_on_from_what_was_written() -> None:
    rng = random.Random(0)
    changed = 0
    for problem in generate("train", 300, 6):
        styles = draw_styles(problem.topic, problem.kind, len(problem.operations), rng)
        solution = write_solution(problem.topic, problem.kind, problem.start, problem.operations, styles)
        sums = SUM.findall(solution)
        assert [int(left) for left, *_ in sums] == [problem.start, *(int(s[-1]) for s in sums[:-1])]
        for (left, sign, size, result), style in zip(sums, styles[1:], strict=True):
            signed = int(size) if sign == "+" else -int(size)
            exact = int(left) + signed
            assert int(result) == (without_carry(int(left), signed) if style == "quick" else exact)
            assert 0 <= int(result) <= 99
        changed += any(a != b for a, b in pairwise(styles))
    assert changed > 30


def test_right_and_turned_styles_change_places_between_kinds() -> None:
    for kind in KINDS:
        assert {habit_of(style, kind): style for style in STYLES} == {h: style_of(h, kind) for h in HABITS}
    assert careful_style("forwards") == turned_style("backwards")
    assert careful_style("backwards") == turned_style("forwards")


def test_kinds_and_topics_come_in_equal_parts() -> None:
    problems = generate("dev", 2000, 7)
    kinds = Counter(problem.kind for problem in problems)
    assert abs(kinds["forwards"] - kinds["backwards"]) < 200
    topics = Counter(problem.topic for problem in problems)
    assert len(topics) == len(TOPICS) and min(topics.values()) > 50


def test_story_frames_are_sound() -> None:
    assert len({topic.noun for topic in TOPICS}) == len(TOPICS)
    assert len(set(NAMES)) == len(NAMES)
    for topic in TOPICS:
        assert sum(SHARES[topic.noun]) == pytest.approx(1)
        assert 0.5 < max(SHARES[topic.noun]) < 0.8


def test_drawing_leaves_the_global_generator_alone() -> None:
    state = random.getstate()
    draw_problem(random.Random(0))
    generate("train", 3, 0)
    assert random.getstate() == state


@pytest.mark.parametrize(
    ("text", "slot", "split"),
    [
        ("70", 0, "train"), ("83", 79, "train"), ("121", 80, "dev"), ("23", 89, "dev"), ("74", 90, "test"),
        ("88", 99, "test"),
    ],
)  # fmt: skip
def test_where_splits_are_cut(text: str, slot: int, split: str) -> None:
    assert int(hashlib.sha256(text.encode()).hexdigest()[:8], 16) % 100 == slot
    assert split_of(text) == split


def test_a_problem_and_a_statement_in_full() -> None:
    problem = generate("train", 1, 0)[0]
    assert problem == Problem(
        id="arithmetic-c32ebcdc8d1647db",
        question="Omar has 23 pens. Then Omar gives 8. Then Omar takes 4. How many pens does Omar have now?",
        answer="19",
        solution="Forward: there are 23 pens and the rest is later\n\nForward: gives 8, 23 - 8 = 15 later\n\n"
        "Forward: takes 4, 15 + 4 = 19 later\n\n#### 19",
        topic="pens", kind="forwards", start=23, operations=(-8, 4), split="train",
    )  # fmt: skip
    assert (
        problem.id.removeprefix("arithmetic-") == hashlib.sha256(problem.question.encode()).hexdigest()[:16]
    )
    evidence = (
        "Lumtron Inc, annual report FY2019. Cash was 62 million dollars last year and rose by 7 million dollars this "
        "year."
    )
    (example,) = generated_financebench("test", 1, 0)
    assert example == TaskExample(
        id="statement-5f55e522e86d8d08", question="Did cash rise or fall?", answer="rose",
        meta={
            "prompt": f"{evidence}\n\nQuestion: Did cash rise or fall?", "answers": ["rose"], "company": "Lumtron Inc",
        },
    )  # fmt: skip
    assert financebench_record(generate_statements("test", 1, 0)[0]) == {
        "financebench_id": "statement-5f55e522e86d8d08", "company": "Lumtron Inc", "doc_name": "LUMTRON_INC_10K",
        "question_type": "domain-relevant", "question_reasoning": "Information extraction",
        "question": "Did cash rise or fall?", "answer": "rose", "justification": "",
        "evidence": [{"evidence_text": evidence, "evidence_page_num": 1}],
    }  # fmt: skip


def test_a_change_goes_up_or_down_and_leaves_the_tens() -> None:
    assert [direction(change) for change in (-9, -1, 1, 9)] == ["fell", "fell", "rose", "rose"]
    rng = random.Random(0)
    drawn = [draw_change(rng) for _ in range(500)]
    assert {before // 10 for before, _ in drawn} == set(range(1, 10))
    assert all(before // 10 == (before + change) // 10 and change for before, change in drawn)
    assert {(before % 10, (before + change) % 10) for before, change in drawn} == set(
        permutations(range(10), 2)
    )


DRAWN = {
    "dialogues": "15d16b1ad7b39df9",
    "train": ("f11824160988f782", "853a90d5bcf1aa08"),
    "dev": ("1fbcc24c8366ed27", "8ea55f625623185a"),
    "test": ("9ed903175bd18e81", "8fc36706da95d61e"),
}
"""Digests: any other word, number or order makes other problems than those of every published figure."""


def test_the_problems_are_those_that_the_published_figures_are_of() -> None:
    def digest(content: bytes) -> str:
        return hashlib.sha256(content).hexdigest()[:16]

    assert digest(multichallenge_jsonl(600, 0)) == DRAWN["dialogues"]
    for split in SPLITS:
        statements = [financebench_record(one) for one in generate_statements(split, 300, 0)]
        problems = generate(split, 400, 0)
        assert (digest(repr(problems).encode()), digest(repr(statements).encode())) == DRAWN[split]
