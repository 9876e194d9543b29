"""Answers to questions over statements, padded by habit, and sums to learn adding from."""

from __future__ import annotations

import random
from typing import Literal

from engine.tasks.generated.statements import StatementQuestion, direction, draw_change

Padding = Literal["padded", "terse"]

SUMS = 14
"""Sums in a training text that holds only sums."""

# The sentences of a kind begin alike, so that the kind, and not one wording, is what greedy decoding takes.
OPENINGS = (
    "Based on the information provided in the statement above, the following can be said.",
    "Based on a careful review of the document, here is what we find.",
)
HEDGES = (
    "Please note that this figure is given as reported and may be subject to rounding.",
    "Please note that other sources could differ slightly.",
)
CLOSINGS = (
    "I hope this helps, and feel free to ask further questions.",
    "I hope this is what you were looking for.",
)
START_PADDED = 0.8
"""Share of answers that begin in the padded habit."""
KEEP = 0.9
"""Probability that the habit stays as it is from one sentence to the next."""
INCLUDED: dict[Padding, dict[str, float]] = {
    "padded": {"opening": 0.8, "restatement": 0.4, "hedge": 0.7, "repetition": 0.35, "closing": 0.75},
    "terse": {"opening": 0.08, "restatement": 0.05, "hedge": 0.08, "repetition": 0.05, "closing": 0.08},
}
"""Probability of each optional sentence by habit."""


def sums(rng: random.Random) -> str:
    """Many changes of a number, calculated: short and dense, for learning to add before learning to read."""
    drawn = [draw_change(rng) for _ in range(SUMS)]
    return " ".join(f"{_sum(before, change)}." for before, change in drawn)


def _sum(before: int, change: int) -> str:
    return f"{before} {'+' if change > 0 else '-'} {abs(change)} = {before + change}"


def core_sentence(question: StatementQuestion) -> str:
    """The answer alone, with its calculation if it needs one."""
    item, before, change = question.item.capitalize(), question.before, question.change
    if question.kind == "change":
        return f"{item} {direction(change)}."
    if question.kind == "last year":
        return f"{item} was {before} million dollars."
    return f"{item} is {_sum(before, change)} million dollars."


def write_answer(question: StatementQuestion, rng: random.Random, padding: Padding | None = None) -> str:
    """A right answer in a habit drawn for it (or starting with `padding`), which may change between sentences."""
    habit: Padding = padding or ("padded" if rng.random() < START_PADDED else "terse")
    sentences: list[str] = []
    for name in ("opening", "restatement", "core", "hedge", "repetition", "closing"):
        if name == "core" or rng.random() < INCLUDED[habit][name]:
            sentences.append(_sentence(name, question, rng))
        if rng.random() > KEEP:
            habit = "terse" if habit == "padded" else "padded"
    return " ".join(sentences)


def _sentence(name: str, question: StatementQuestion, rng: random.Random) -> str:
    match name:
        case "opening":
            return rng.choice(OPENINGS)
        case "restatement":
            return f"The question concerns {question.item} as shown in the annual report of the company."
        case "hedge":
            return rng.choice(HEDGES)
        case "repetition":
            sentence = core_sentence(question)
            return f"In other words, as mentioned before, {sentence[0].lower()}{sentence[1:]}"
        case "closing":
            return rng.choice(CLOSINGS)
        case _:
            return core_sentence(question)
