"""Which questions an iteration asks, and which confirm a new best (spec Evolution 3; DESIGN 7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.errors import ConfigError, Problem
from engine.seeds import generator
from engine.tasks.example import TaskExample


@dataclass(frozen=True)
class Questions:
    """`validation` is fixed and never among `pool`, from which minibatches are drawn."""

    pool: Sequence[TaskExample]
    validation: Sequence[TaskExample]
    minibatch_size: int
    seed: int

    def minibatch(self, iteration: int) -> list[TaskExample]:
        """Questions of an iteration, without repetition; the same for the same seed and iteration."""
        order = generator(self.seed, "evolve", "minibatch", iteration).permutation(len(self.pool))
        return [self.pool[i] for i in order[: self.minibatch_size]]


def split_questions(
    examples: Sequence[TaskExample], minibatch_size: int, validation_size: int, seed: int
) -> Questions:
    """Set `validation_size` examples aside. Raises ConfigError where too few are left for a minibatch."""
    if len(examples) < minibatch_size + validation_size:
        raise ConfigError(
            [
                Problem(
                    "evolution.validation_size",
                    f"{validation_size}, and a minibatch of {minibatch_size}",
                    f"together at most the {len(examples)} questions of the pool: validation is set aside",
                )
            ]
        )
    order = generator(seed, "evolve", "validation").permutation(len(examples))
    validation = [examples[i] for i in sorted(order[:validation_size].tolist())]
    pool = [examples[i] for i in sorted(order[validation_size:].tolist())]
    return Questions(pool, validation, minibatch_size, seed)
