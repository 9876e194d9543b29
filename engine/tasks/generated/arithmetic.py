"""Arithmetic word problems of several steps, told forwards or backwards.

Forwards: a known number, then what was done to it, and the question is how many there are now. Backwards: a known
number at the end, then what had been done before, latest first, and the question is how many there were at first.
The operations are the same words; a story told backwards has to be undone.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Literal

from engine.tasks.generated.habits import (
    Style,
    apply_operation,
    careful_solution,
    careful_style,
    turned_style,
)
from engine.tasks.generated.splits import Split, drawn, split_of, text_digest
from engine.tasks.generated.topics import NAMES, TOPICS, Topic

Kind = Literal["forwards", "backwards"]
KINDS: tuple[Kind, ...] = ("forwards", "backwards")

LARGEST = 99


@dataclass(frozen=True)
class Problem:
    """One generated word problem.

    operations: the signed changes, in the order of the story; each of size 1 to 9.
    solution: the careful solution, steps separated by a blank line, `#### n` at the end.
    """

    id: str
    question: str
    answer: str
    solution: str
    topic: str
    kind: Kind
    start: int
    operations: tuple[int, ...]
    split: Split


def generate(split: Split, n: int, seed: int) -> list[Problem]:
    """`n` different problems of `split`; the same for the same (split, n, seed), a prefix of those for a larger n."""
    return drawn(draw_problem, split, n, random.Random(f"arithmetic:{split}:{seed}"))


def draw_problem(rng: random.Random) -> Problem:
    """One problem of any split whose three habits lead to three different answers."""
    while True:
        topic, name, kind = rng.choice(TOPICS), rng.choice(NAMES), rng.choice(KINDS)
        operations = tuple(rng.choice((-1, 1)) * rng.randint(1, 9) for _ in range(rng.randint(2, 4)))
        reach = sum(map(abs, operations))
        start = rng.randint(reach + 1, LARGEST - reach)  # whatever the signs, no step leaves 1..99
        if _habits_differ(kind, start, operations):
            return build_problem(topic, name, kind, start, operations)


def build_problem(topic: Topic, name: str, kind: Kind, start: int, operations: tuple[int, ...]) -> Problem:
    """The problem with this topic, name, kind, start and operations."""
    question = _question(topic, name, kind, start, operations)
    return Problem(
        id=f"arithmetic-{text_digest(question)[:16]}",
        question=question,
        answer=str(result_in(careful_style(kind), kind, start, operations)),
        solution=careful_solution(topic.noun, kind, start, operations),
        topic=topic.noun,
        kind=kind,
        start=start,
        operations=operations,
        split=split_of(question),
    )


def result_in(style: Style, kind: Kind, start: int, operations: tuple[int, ...]) -> int:
    """The answer of a solution that keeps to `style` from beginning to end."""
    value = start
    for operation in operations:
        value = apply_operation(style, kind, value, operation).result
    return value


def _habits_differ(kind: Kind, start: int, operations: tuple[int, ...]) -> bool:
    styles: tuple[Style, ...] = (careful_style(kind), turned_style(kind), "quick")
    return len({result_in(style, kind, start, operations) for style in styles}) == len(styles)


def _question(topic: Topic, name: str, kind: Kind, start: int, operations: tuple[int, ...]) -> str:
    noun = topic.noun
    sentences = [f"{name} {topic.verb(operation, kind)} {abs(operation)}." for operation in operations]
    if kind == "forwards":
        opening, link = f"{name} has {start} {noun}.", "Then"
        asked = f"How many {noun} does {name} have now?"
    else:
        opening, link = f"{name} now has {start} {noun}.", "Before that"
        asked = f"How many {noun} did {name} have at first?"
    return " ".join([opening, *(f"{link} {sentence}" for sentence in sentences), asked])
