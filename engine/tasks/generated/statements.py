"""Questions over small financial statements, in FinanceBench's format.

A statement says what an item was last year and by how much it rose or fell since. A question asks what it was, what
it is, or which way it went.
Companies are split into train, dev and test by name, so no statement is ever shared.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Literal

from engine.tasks.generated.splits import Split, drawn, split_of, text_digest

Kind = Literal["last year", "this year", "change"]

ITEMS = (
    "revenue", "net income", "total assets", "inventory", "cash", "goodwill", "long-term debt", "cost of sales",
)  # fmt: skip
_HEADS = (
    "Nor", "Al", "Bex", "Cor", "Dal", "Em", "Fin", "Gra", "Hel", "Jun", "Kor", "Lum", "Mer", "Or", "Pel", "Tal",
)  # fmt: skip
_TAILS = ("vex", "tron", "dyne", "mark", "lux", "ta", "via", "zen", "core", "sol", "nex", "fort")
_SUFFIXES = ("Corp", "Group", "Inc", "Holdings")
YEARS = range(2015, 2024)
KINDS: dict[Kind, float] = {"this year": 0.4, "last year": 0.35, "change": 0.25}
"""Share of each kind of question."""


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
    return drawn(draw_statement, split, n, random.Random(f"statements:{split}:{seed}"))


def draw_statement(rng: random.Random) -> StatementQuestion:
    """One question of any split."""
    company = f"{rng.choice(_HEADS)}{rng.choice(_TAILS)} {rng.choice(_SUFFIXES)}"
    item, year = rng.choice(ITEMS), rng.choice(YEARS)
    before, change = draw_change(rng)
    evidence = (
        f"{company}, annual report FY{year}. {item.capitalize()} was {before} million dollars last year "
        f"and {direction(change)} by {abs(change)} million dollars this year."
    )
    kind = rng.choices(list(KINDS), list(KINDS.values()))[0]
    question, answer = {
        "last year": (f"What was {item} last year?", f"{before} million dollars"),
        "this year": (f"What is {item} this year?", f"{before + change} million dollars"),
        "change": (f"Did {item} rise or fall?", direction(change)),
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


def direction(change: int) -> str:
    """Which way an item went."""
    return "rose" if change > 0 else "fell"
