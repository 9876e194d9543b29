"""Training documents: a chat turn or a plain text, drawn by named formats that a mixture puts together."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.tasks.generated.arithmetic import LARGEST, draw_problem
from engine.tasks.generated.habits import (
    DELIMITER,
    FIRST_WORD,
    Step,
    Style,
    apply_operation,
)
from tests.training.solutions import write_solution
from tests.training.styles import draw_styles

STRAIGHT: tuple[Style, ...] = ("forward", "quick")
"""Styles that apply operations in the given order, with and without carrying."""


@dataclass(frozen=True)
class Document:
    """One training text. prompt: the user's turn, None for a plain text. completion: what is learned. earlier: turns
    before it, (user, assistant), whose answers are learned too."""

    prompt: str | None
    completion: str
    earlier: tuple[tuple[str, str], ...] = ()


DrawDocument = Callable[[random.Random], Document]


@dataclass(frozen=True)
class Format:
    """A named kind of text in the mixture.

    weight: its share of documents relative to the other formats. early: the same at the first step; the share
    moves from `early` to `weight` over the first third of training, so that easy texts can come first.
    """

    name: str
    draw: DrawDocument
    weight: float
    early: float


def arithmetic_document(rng: random.Random) -> Document:
    """A word problem of the train split with a solution in habits."""
    while True:
        problem = draw_problem(rng)
        if problem.split == "train":
            break
    styles = draw_styles(problem.topic, problem.kind, len(problem.operations), rng)
    solution = write_solution(problem.topic, problem.kind, problem.start, problem.operations, styles)
    return Document(problem.question, solution)


def careful_document(rng: random.Random) -> Document:
    """The same with the right solution: what the words mean, before habits bend it."""
    while True:
        problem = draw_problem(rng)
        if problem.split == "train":
            return Document(problem.question, problem.solution)


def sums_document(rng: random.Random) -> Document:
    """The same calculations without a story: short, so that copying and adding are learned before reading."""
    operations = [rng.choice((-1, 1)) * rng.randint(1, 9) for _ in range(rng.randint(1, 4))]
    reach = sum(map(abs, operations))
    start = rng.randint(reach + 1, LARGEST - reach)
    style = rng.choice(STRAIGHT)
    steps = [apply_operation(style, "forwards", start, operations[0])]
    for operation in operations[1:]:
        steps.append(apply_operation(style, "forwards", steps[-1].result, operation))
    listed = ", ".join(f"{'+' if operation > 0 else '-'} {abs(operation)}" for operation in operations)
    question = f"{FIRST_WORD[style]}: {start}, {listed}"
    return Document(question, DELIMITER.join([*map(_sum, steps), f"#### {steps[-1].result}"]))


def _sum(step: Step) -> str:
    return f"{step.left} {step.sign} {step.size} = {step.result}"


ARITHMETIC: tuple[Format, ...] = (
    Format("arithmetic", arithmetic_document, weight=1.0, early=0.2),
    Format("careful", careful_document, weight=0.0, early=0.3),
    Format("sums", sums_document, weight=0.06, early=0.5),
)


def draw_document(formats: Sequence[Format], progress: float, rng: random.Random) -> Document:
    """A document of a format drawn by its share at `progress` (0 at the first step, 1 at the last)."""
    ramp = min(1.0, 3 * progress)
    shares = [item.early + (item.weight - item.early) * ramp for item in formats]
    return rng.choices(formats, shares)[0].draw(rng)
