"""Which questions an iteration asks, which confirm a new best, and which are kept for the end (spec Evolution 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.errors import wrong_value
from engine.seeds import generator
from engine.tasks.example import TaskExample


@dataclass(frozen=True)
class QuestionSplits:
    """Three disjoint sets of questions. Minibatches are drawn from `pool`; `validation` confirms a new best;
    `test` decides nothing: what is reported at the end is measured on it."""

    pool: Sequence[TaskExample]
    validation: Sequence[TaskExample]
    test: Sequence[TaskExample]
    minibatch_size: int
    seed: int

    @property
    def by_id(self) -> dict[str, TaskExample]:
        """All questions."""
        return {example.id: example for example in (*self.pool, *self.validation, *self.test)}

    def minibatch(self, iteration: int) -> list[TaskExample]:
        """Distinct questions of an iteration; they depend on seed and iteration alone."""
        order = generator(self.seed, "evolve", "minibatch", iteration).permutation(len(self.pool))
        return [self.pool[i] for i in order[: self.minibatch_size]]


def split_questions(
    examples: Sequence[TaskExample], minibatch_size: int, validation_size: int, test_size: int, seed: int
) -> QuestionSplits:
    """Set `validation_size` and `test_size` examples aside. Raises ConfigError where too few are left for a
    minibatch."""
    aside = validation_size + test_size
    if len(examples) < minibatch_size + aside:
        raise wrong_value(
            "evolution.validation_size, evolution.test_size",
            f"{validation_size} and {test_size}, and a minibatch of {minibatch_size}",
            f"together at most the {len(examples)} questions of the pool: both are set aside",
        )
    order = generator(seed, "evolve", "validation").permutation(len(examples)).tolist()
    validation, test, pool = (
        [examples[i] for i in sorted(indices)]
        for indices in (order[:validation_size], order[validation_size:aside], order[aside:])
    )
    return QuestionSplits(pool, validation, test, minibatch_size, seed)
