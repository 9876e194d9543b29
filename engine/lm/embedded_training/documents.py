"""Training documents: a chat turn or a plain text, drawn by named formats that a mixture puts together."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.tasks.generated.arithmetic import draw_problem
from engine.tasks.generated.habits import Solution, draw_styles, without_carry, write_solution


@dataclass(frozen=True)
class Document:
    """One training text. prompt: the user's turn, None for a plain text. completion: what is learned."""

    prompt: str | None
    completion: str


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
    solution: Solution = write_solution(
        problem.topic, problem.kind, problem.start, problem.operations, styles
    )
    return Document(problem.question, solution.text)


def sums_document(rng: random.Random) -> Document:
    """Bare sums, one a line, each careful or without carry as its first word says."""
    return Document(None, "\n".join(_sum(rng) for _ in range(8)))


def _sum(rng: random.Random) -> str:
    left, size, sign = rng.randint(0, 99), rng.randint(1, 9), rng.choice((1, -1))
    hasty = rng.random() < 0.3
    result = without_carry(left, sign * size) if hasty else left + sign * size
    if not 0 <= result <= 99:
        return _sum(rng)
    first = "Quick" if hasty else rng.choice(("Forward", "Backward"))
    return f"{first}: {left} {'+' if sign > 0 else '-'} {size} = {result}"


FORMATS: tuple[Format, ...] = (
    Format("arithmetic", arithmetic_document, weight=1.0, early=0.5),
    Format("sums", sums_document, weight=0.03, early=0.5),
)


def draw_document(formats: Sequence[Format], progress: float, rng: random.Random) -> Document:
    """A document of a format drawn by its share at `progress` (0 at the first step, 1 at the last)."""
    ramp = min(1.0, 3 * progress)
    shares = [item.early + (item.weight - item.early) * ramp for item in formats]
    return rng.choices(formats, shares)[0].draw(rng)
