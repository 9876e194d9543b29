"""Events of the stage selector."""

from __future__ import annotations

import msgspec

from engine.events.base import Event


class SelectorStep(Event, tag=True, kw_only=True, frozen=True):
    """A training step of the selector (a line of `selector/training.jsonl`). `phase`: supervised or policy_gradient.

    `expected_score`: mean score of what it would pick among the trajectories it was taught in this step; `pairs`: how
    many those were, `drawn` of them by itself. Every so often it also picks for the held-out queries, by which nothing
    is chosen: `heldout_accuracy`.
    """

    step: int
    steps: int
    phase: str
    loss: float
    expected_score: float
    gradient_norm: float
    pairs: int
    drawn: int = 0
    heldout_accuracy: float | None = None


class SelectorCompared(Event, tag=True, kw_only=True, frozen=True):
    """A method on the `n` held-out queries (a line of `selector/comparison.csv`): random, rices or selector.

    `accuracy`: mean VQA accuracy, `low` and `high` its bootstrap 95% interval. `difference`: accuracy minus that of
    rices with its paired bootstrap interval. `asked`: picks; `failed`: queries left out of all methods because the
    model failed on a pick.
    """

    method: str
    n: int
    accuracy: float
    low: float
    high: float
    asked: int
    failed: int = 0
    difference: float | None = None
    difference_low: float | None = None
    difference_high: float | None = None


class SelectorPick(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """What a method picked for a query. `pointer`: places in the pool; `pair`: rows of the table, in the prompt's
    order; `probability`: the selector's; `score` None: the model failed."""

    method: str
    pointer: list[int]
    pair: list[int]
    answer: str
    score: float | None
    probability: float | None = None


class SelectorPicked(Event, tag=True, kw_only=True, frozen=True):
    """Every method's pick for a held-out query (a line of `selector/picks.jsonl`). `answers`: what people said, with
    how many said it; `pool`: its 64 rows; `picture`: as in `PoolQueryDone`."""

    query_id: str
    question: str
    answers: dict[str, int]
    pool: list[int]
    picks: list[SelectorPick]
    picture: str = ""
