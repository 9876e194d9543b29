"""How far a judge agrees with people, on answers that people have labelled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, SupportsFloat

import numpy as np
from numpy.typing import NDArray

from engine.evolution.judges.judge import Verdict
from tests.bench.judge.labelled_answers import LabelledAnswer

Counts = NDArray[np.float64]
"""(..., 4): right by both, by the judge alone, by people alone, by neither."""

_RESAMPLES = 2000
_TAIL = 2.5


@dataclass(frozen=True)
class Agreement:
    """Of `answers`, `judged` were judged; on `cannot_tell` others the judge cannot tell, on the rest it failed. Of the
    judged, people call `refusals` refusals, of which the judge calls `refusals_right` right; all other figures leave
    them out. `agreement`: share on which both say the same; `kappa`: Cohen's, with its 95% interval; None where all are
    of one kind. `precision`, `recall`: of "right", against people."""

    answers: int
    judged: int
    cannot_tell: int
    agreement: float | None
    kappa: float | None
    kappa_low: float | None
    kappa_high: float | None
    precision: float | None
    recall: float | None
    refusals: int
    refusals_right: int


def agreement_with_people(
    answers: Sequence[LabelledAnswer], verdicts: Sequence[Verdict], seed: int = 0
) -> dict[str, Agreement]:
    """Figures of all answers (""), and of each type of question where they are named. Answers that people call refusals
    are easy to tell: they are counted, and left out of all else.

    The interval resamples questions, not answers: several models' answers to one question stand and fall together.
    """
    both = list(zip(answers, verdicts, strict=True))
    types = sorted({answer.type for answer in answers} - {""})
    groups = {"": both} | {kind: [pair for pair in both if pair[0].type == kind] for kind in types}
    return {kind: Agreement(**_figures(pairs, seed)) for kind, pairs in groups.items()}


def kappa(counts: Counts) -> NDArray[np.float64]:
    """Cohen's kappa: agreement beyond chance, 1 where complete, 0 where chance alone. (...,) for counts (..., 4)."""
    both, judge, people, neither = (counts[..., place] for place in range(4))
    total = counts.sum(-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        agreed = (both + neither) / total
        chance = ((both + judge) * (both + people) + (neither + people) * (neither + judge)) / total**2
        return (agreed - chance) / (1 - chance)


def _figures(pairs: Sequence[tuple[LabelledAnswer, Verdict]], seed: int) -> dict[str, Any]:
    by_question: dict[str, Counts] = {}
    refusals: list[bool] = []
    for answer, verdict in pairs:
        if verdict.correct is not None and answer.refusal:
            refusals.append(verdict.correct)
        elif verdict.correct is not None:
            counts = by_question.setdefault(answer.question, np.zeros(4))
            counts[_cell(answer.right, verdict.correct)] += 1
    table = np.array(list(by_question.values())).reshape(-1, 4)
    both, judge, people, neither = table.sum(0)
    compared = both + judge + people + neither
    low, high = _interval(table, seed)
    return {
        "answers": len(pairs),
        "judged": int(compared) + len(refusals),
        "cannot_tell": sum(verdict.cannot_tell for _, verdict in pairs),
        "agreement": _share(both + neither, compared),
        "kappa": _finite(kappa(table.sum(0))),
        "kappa_low": low,
        "kappa_high": high,
        "precision": _share(both, both + judge),
        "recall": _share(both, both + people),
        "refusals": len(refusals),
        "refusals_right": sum(refusals),
    }


def _cell(right: bool, judged: bool) -> int:
    return (0 if judged else 2) if right else (1 if judged else 3)


def _share(part: float, whole: float) -> float | None:
    return float(part / whole) if whole else None


def _finite(value: SupportsFloat) -> float | None:
    return float(value) if np.isfinite(float(value)) else None


def _interval(table: Counts, seed: int) -> tuple[float | None, float | None]:
    """Percentile interval of kappa over resampled questions; `table`: (questions, 4)."""
    size = len(table)
    if size < 2:
        return None, None
    draws = np.random.default_rng(seed).multinomial(size, np.full(size, 1 / size), size=_RESAMPLES)
    values = kappa(draws @ table)
    values = values[np.isfinite(values)]
    if not len(values):
        return None, None
    low, high = np.percentile(values, [_TAIL, 100 - _TAIL])
    return float(low), float(high)
