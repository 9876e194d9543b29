"""Questions over small financial statements, in FinanceBench's format, with answers that are padded by habit.

A statement says what an item was last year and by how much it rose or fell since. A question asks what it was, what
it is, or which way it went.
Companies are split into train, dev and test by name, so no statement is ever shared.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from engine.tasks.generated.splits import Split, split_of, text_digest

Kind = Literal["last year", "this year", "change"]
Padding = Literal["padded", "terse"]

ITEMS = (
    "revenue", "net income", "total assets", "inventory", "cash", "goodwill", "long-term debt", "cost of sales",
)  # fmt: skip
_HEADS = (
    "Nor",
    "Al",
    "Bex",
    "Cor",
    "Dal",
    "Em",
    "Fin",
    "Gra",
    "Hel",
    "Jun",
    "Kor",
    "Lum",
    "Mer",
    "Or",
    "Pel",
    "Tal",
)
_TAILS = ("vex", "tron", "dyne", "mark", "lux", "ta", "via", "zen", "core", "sol", "nex", "fort")
_SUFFIXES = ("Corp", "Group", "Inc", "Holdings")
YEARS = range(2015, 2024)
SUMS = 14
"""Sums in a training text that holds only sums."""
KINDS: dict[Kind, float] = {"this year": 0.4, "last year": 0.35, "change": 0.25}
"""Share of each kind of question."""

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


@dataclass(frozen=True)
class StatementQuestion:
    """One question. `evidence`: the statement; `before` and `change`, signed, in millions of dollars; `answer`: gold,
    `41 million dollars`, `rose` or `fell`."""

    id: str
    company: str
    evidence: str
    item: str
    before: int
    change: int
    question: str
    answer: str
    kind: Kind
    split: Split


def generate_statements(split: Split, n: int, seed: int) -> list[StatementQuestion]:
    """`n` different questions of `split`; a prefix of those for a larger n."""
    return [question for question, _ in zip(statement_questions(split, seed), range(n), strict=False)]


def statement_questions(split: Split, seed: int) -> Iterator[StatementQuestion]:
    """The endless stream of different questions of `split` for `seed`."""
    rng = random.Random(f"statements:{split}:{seed}")
    seen: set[str] = set()
    while True:
        question = draw_statement(rng)
        if question.split == split and question.id not in seen:
            seen.add(question.id)
            yield question


def draw_statement(rng: random.Random) -> StatementQuestion:
    """One question of any split."""
    company = f"{rng.choice(_HEADS)}{rng.choice(_TAILS)} {rng.choice(_SUFFIXES)}"
    item, year = rng.choice(ITEMS), rng.choice(YEARS)
    before, change = draw_change(rng)
    evidence = (
        f"{company}, annual report FY{year}. {item.capitalize()} was {before} million dollars last year "
        f"and {_verb(change)} by {abs(change)} million dollars this year."
    )
    kind = rng.choices(list(KINDS), list(KINDS.values()))[0]
    question, answer = {
        "last year": (f"What was {item} last year?", f"{before} million dollars"),
        "this year": (f"What is {item} this year?", f"{before + change} million dollars"),
        "change": (f"Did {item} rise or fall?", _verb(change)),
    }[kind]
    return StatementQuestion(
        id=f"statement-{text_digest(evidence + question)[:16]}",
        company=company,
        evidence=evidence,
        item=item,
        before=before,
        change=change,
        question=question,
        answer=answer,
        kind=kind,
        split=split_of(company),
    )


def draw_change(rng: random.Random) -> tuple[int, int]:
    """A number of two digits and a signed change that leaves the first of them as it is."""
    tens, units, after = rng.randint(1, 9), *rng.sample(range(10), 2)
    return 10 * tens + units, after - units


def sums(rng: random.Random) -> str:
    """Many such changes, calculated: short and dense, for learning to add before learning to read."""
    drawn = [draw_change(rng) for _ in range(SUMS)]
    return " ".join(f"{_sum(before, change)}." for before, change in drawn)


def _sum(before: int, change: int) -> str:
    return f"{before} {'+' if change > 0 else '-'} {abs(change)} = {before + change}"


def core_sentence(question: StatementQuestion) -> str:
    """The answer alone, with its calculation if it needs one."""
    item, before, change = question.item.capitalize(), question.before, question.change
    if question.kind == "change":
        return f"{item} {_verb(change)}."
    if question.kind == "last year":
        return f"{item} was {before} million dollars."
    return f"{item} is {_sum(before, change)} million dollars."


def _verb(change: int) -> str:
    return "rose" if change > 0 else "fell"


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
