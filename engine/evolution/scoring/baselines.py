"""What somebody would try before any deltas: a length cap, and a request for short answers put after the question.

Both are chosen as the deltas are: by the composite, on the validation set.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from engine.evolution.answers import AnswerRecord
from engine.evolution.scoring.score import Outcome, Score, score

Cut = Callable[[Sequence[AnswerRecord], int], list[Outcome]]
"""What answers are worth if each ends after at most so many tokens."""


@dataclass(frozen=True)
class Tried:
    """A setting of a baseline and its score on the validation set: `cap` in tokens, or `prompt`."""

    method: str
    score: Score
    cap: int | None = None
    prompt: str = ""

    def line(self, chosen: bool) -> dict[str, Any]:
        """A line of `tables/baselines.csv`."""
        figures = self.score
        return {name: value for name, value in asdict(self).items() if name != "score"} | {
            "n": figures.judged,
            "correctness": figures.correctness,
            "mean_tokens": figures.mean_tokens,
            "composite": figures.composite,
            "chosen": chosen,
        }


def tried_caps(
    method: str, answers: Sequence[AnswerRecord], count: int, cut: Cut, scale: float
) -> list[Tried]:
    """`count` caps in equal steps up to the longest answer (that is: none), each scored on `answers`."""
    longest = max(len(record.token_ids) for record in answers)
    caps = sorted({math.ceil(longest * step / count) for step in range(1, count + 1)} - {0})
    return [Tried(method, score(cut(answers, cap), scale), cap=cap) for cap in caps]


def best_of(tried: Sequence[Tried]) -> Tried | None:
    """The one of the highest composite, the first of several."""
    return max(tried, key=lambda one: one.score.composite, default=None)
