"""The best deltas against no processor, and against a length cap of the same mean length, on the test set.

A cap costs nothing and shortens too: deltas that score no better have learnt nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from engine.events import MethodCompared
from engine.evolution.answers import AnswerRecord
from engine.evolution.score import Outcome, Score, score
from engine.statistics import mcnemar, paired_bootstrap
from engine.wilson import wilson

JudgeCut = Callable[[AnswerRecord, list[int]], bool | None]
"""Whether an answer, cut to these tokens, is right; None if it was not judged."""


@dataclass(frozen=True)
class Capped:
    """A cap in tokens and the answers under it."""

    cap: int
    outcomes: list[Outcome]


def cap_for(lengths: Sequence[int], mean: float) -> int:
    """The largest cap under which the mean length is at most `mean`; at least 1."""
    values = np.asarray(lengths)
    caps = np.arange(1, max(int(values.max(initial=1)), 1) + 1)
    means = np.minimum(values[None, :], caps[:, None]).mean(axis=1)
    return int(caps[max(int((means <= mean).sum()) - 1, 0)])


def capped(baseline: Sequence[AnswerRecord], mean: float, judge: JudgeCut) -> Capped:
    """The answers without processor, cut to the same mean length and judged again."""
    cap = cap_for([len(record.token_ids) for record in baseline], mean)
    outcomes = []
    for record in baseline:
        kept = record.token_ids[:cap]
        whole = len(kept) == len(record.token_ids)
        known = whole or record.cannot_tell
        outcomes.append(
            Outcome(len(kept), record.correct if known else judge(record, kept), record.cannot_tell)
        )
    return Capped(cap, outcomes)


def compare(
    baseline: Sequence[AnswerRecord], best: Sequence[AnswerRecord], judge: JudgeCut, scale: float, seed: int
) -> list[MethodCompared]:
    """Rows of no processor, the cap, and the best deltas, over the same questions."""
    plain = [record.outcome for record in baseline]
    evolved = [record.outcome for record in best]
    mean = sum(outcome.tokens for outcome in evolved) / len(evolved)
    cap = capped(baseline, mean, judge)
    return [
        _row("no_processor", score(plain, scale), None, seed),
        _row("length_cap", score(cap.outcomes, scale), (cap.outcomes, plain), seed, cap.cap),
        _row("best", score(evolved, scale), (evolved, plain), seed),
    ]


def _row(
    method: str,
    figures: Score,
    pair: tuple[list[Outcome], list[Outcome]] | None,
    seed: int,
    cap: int | None = None,
) -> MethodCompared:
    low, high = wilson(figures.correct, figures.judged)
    row = MethodCompared(
        method=method,
        n=figures.judged,
        correctness=figures.correctness,
        wilson_low=low,
        wilson_high=high,
        mean_tokens=figures.mean_tokens,
        shortness=figures.shortness,
        composite=figures.composite,
        cannot_tell=figures.cannot_tell,
        cap=cap,
    )
    if pair is None:
        return row
    both = [(a.correct, b.correct) for a, b in zip(*pair, strict=True) if None not in (a.correct, b.correct)]
    own, other = [float(bool(a)) for a, _ in both], [float(bool(b)) for _, b in both]
    if not both:
        return row
    interval = paired_bootstrap(own, other, seed)
    return msgspec.structs.replace(
        row, difference=interval.difference, low=interval.low, high=interval.high, p=mcnemar(own, other)
    )
