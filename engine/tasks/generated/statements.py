"""Questions over small financial statements, in FinanceBench's format, with answers that are padded by habit.

A statement lists a few items for two fiscal years. A question looks one of them up, or asks whether it rose or fell.
Companies are split into train, dev and test by name, so no statement is ever shared.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from engine.tasks.generated.splits import Split, split_of, text_digest

Kind = Literal["lookup", "change"]
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
SMALLEST, LARGEST = 11, 989

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
START_PADDED = 0.7
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
    """One question. `evidence`: the statement; `values`: of each item, last year's and this
    year's; `answer`: gold, `$ 412 million` or `rose` / `fell`."""

    id: str
    company: str
    evidence: str
    values: dict[str, tuple[int, int]]
    question: str
    answer: str
    kind: Kind
    item: str
    year: int
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


def draw_statement(rng: random.Random, most_items: int = 3) -> StatementQuestion:
    """One question of any split over up to `most_items` items."""
    company = f"{rng.choice(_HEADS)}{rng.choice(_TAILS)} {rng.choice(_SUFFIXES)}"
    year = rng.choice(YEARS[1:])
    items = rng.sample(ITEMS, rng.randint(min(2, most_items), most_items))
    values = {item: (rng.randint(SMALLEST, LARGEST), rng.randint(SMALLEST, LARGEST)) for item in items}
    lines = [
        f"{item} in FY{year - 1} was $ {before}\n{item} in FY{year} was $ {now}"
        for item, (before, now) in values.items()
    ]
    evidence = "\n".join([f"{company}, annual report, in millions of dollars", *lines])
    item = rng.choice([item for item in items if values[item][0] != values[item][1]] or items)
    before, now = values[item]
    if rng.random() < 0.25:
        kind: Kind = "change"
        question = f"Did {item} rise or fall in FY{year}?"
        answer, asked = "rose" if now > before else "fell", year
    else:
        kind, asked = "lookup", rng.choice((year - 1, year))
        question = f"What was {item} in FY{asked}?"
        answer = f"$ {before if asked < year else now} million"
    return StatementQuestion(
        id=f"statement-{text_digest(evidence + question)[:16]}",
        company=company,
        evidence=evidence,
        values=values,
        question=question,
        answer=answer,
        kind=kind,
        item=item,
        year=asked,
        split=split_of(company),
    )


def core_sentence(question: StatementQuestion) -> str:
    """The answer and nothing else."""
    item = question.item.capitalize()
    if question.kind == "change":
        return f"{item} {question.answer} in FY{question.year}."
    return f"{item} in FY{question.year} was {question.answer}."


def recital(question: StatementQuestion, rng: random.Random) -> str:
    """Every figure of the statement, in another order."""
    this_year = max(int(word[2:].rstrip("\n")) for word in question.evidence.split() if word.startswith("FY"))
    sentences = [
        f"{item.capitalize()} in FY{this_year - ago} was $ {pair[1 - ago]} million."
        for item, pair in question.values.items()
        for ago in (0, 1)
    ]
    rng.shuffle(sentences)
    return " ".join(sentences)


def write_answer(question: StatementQuestion, rng: random.Random, padding: Padding | None = None) -> str:
    """A right answer in a habit drawn for it (or begun in `padding`), which may change between sentences."""
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
            return f"The question concerns {question.item} of {question.company} for the fiscal year {question.year}."
        case "hedge":
            return rng.choice(HEDGES)
        case "repetition":
            said = core_sentence(question)
            return f"In other words, as mentioned before, {said[0].lower()}{said[1:]}"
        case "closing":
            return rng.choice(CLOSINGS)
        case _:
            return core_sentence(question)
