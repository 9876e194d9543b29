"""The score of a set of judged answers: 0.4 shortness + 0.6 correctness (spec Evolution 1, step 8)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from engine.errors import DataError

SHORTNESS_WEIGHT, CORRECTNESS_WEIGHT = 0.4, 0.6


class Score(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of one set of answers.

    `answers` were given, `judged` of them were judged; correctness is a share of the judged ones, 0 to 1. On
    `cannot_tell` of the others the judge cannot tell, on the rest it failed.
    `mean_tokens`: mean length of all answers. `error`: standard error of the composite over the answers.
    """

    answers: int
    judged: int
    correct: int
    mean_tokens: float
    shortness: float
    correctness: float
    composite: float
    error: float
    cannot_tell: int = 0

    @property
    def failures(self) -> int:
        """Answers on which the judge failed."""
        return self.answers - self.judged - self.cannot_tell


@dataclass(frozen=True)
class Outcome:
    """Length in tokens of one answer, and whether it is right; None: it was not judged, because the judge cannot tell
    or, without `cannot_tell`, because it failed."""

    tokens: int
    correct: bool | None
    cannot_tell: bool = False


def shortness(tokens: float, scale: float) -> float:
    """1 / (1 + tokens / scale): 1 for nothing, 1/2 at `scale` tokens."""
    return 1.0 / (1.0 + tokens / scale)


def composite(short: float, correct: float) -> float:
    """The weighted sum of both, 0 to 1."""
    return SHORTNESS_WEIGHT * short + CORRECTNESS_WEIGHT * correct


def score(outcomes: Sequence[Outcome], scale: float) -> Score:
    """Score of judged answers. What was not judged is left out of correctness and counted.

    Raises DataError when nothing was judged: then there is no score.
    """
    judged = [outcome for outcome in outcomes if outcome.correct is not None]
    cannot_tell = sum(outcome.cannot_tell for outcome in outcomes)
    if not judged:
        raise DataError(
            what=f"none of {len(outcomes)} answers could be judged: on {cannot_tell} the judge cannot tell, on "
            f"{len(outcomes) - cannot_tell} it failed",
            where="evolution.judge",
            hint="see why in the notices, correct that and resume: the answers are kept; or start a run with "
            "`evolution.judge.kind: auto`, an offline judge",
        )
    right = sum(bool(outcome.correct) for outcome in judged)
    mean_tokens = sum(outcome.tokens for outcome in outcomes) / len(outcomes)
    short, correct = shortness(mean_tokens, scale), right / len(judged)
    return Score(
        answers=len(outcomes),
        judged=len(judged),
        correct=right,
        mean_tokens=mean_tokens,
        shortness=short,
        correctness=correct,
        composite=composite(short, correct),
        error=_standard_error(
            [composite(shortness(o.tokens, scale), float(bool(o.correct))) for o in judged]
        ),
        cannot_tell=cannot_tell,
    )


def _standard_error(values: Sequence[float]) -> float:
    if len(values) < 2:
        return 0.0
    mean = sum(values) / len(values)
    variance = sum((value - mean) ** 2 for value in values) / (len(values) - 1)
    return math.sqrt(variance / len(values))
