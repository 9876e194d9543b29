"""The best deltas against no processor and against what somebody would try first, on the test set: two length caps, and
a request for short answers.

A cap and a request cost nothing and shorten too: deltas that score no better have learnt nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, astuple, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.events import MethodCompared
from engine.evolution.scoring.score import CORRECTNESS_WEIGHT, SHORTNESS_WEIGHT, Outcome, score
from engine.statistics import Interval, mcnemar, paired_bootstrap
from engine.wilson import wilson

PLAIN, BEST = "no_processor", "best"
SAME_LENGTH, CHOSEN_CAP, BRIEF = "length_cap", "chosen_cap", "brief_prompt"
_RESAMPLES, _AT_ONCE = 10_000, 500


@dataclass(frozen=True)
class Method:
    """A way to answer the test set: its answers, in the order of the questions. `cap`: tokens at which they were cut;
    `prompt`: the request that was put after each question."""

    name: str
    outcomes: Sequence[Outcome]
    cap: int | None = None
    prompt: str = ""


def cap_for(lengths: Sequence[int], mean: float) -> int:
    """The largest cap under which the mean length is at most `mean`; at least 1."""
    values = np.asarray(lengths)
    caps = np.arange(1, max(int(values.max(initial=1)), 1) + 1)
    means = np.minimum(values[None, :], caps[:, None]).mean(axis=1)
    return int(caps[max(int((means <= mean).sum()) - 1, 0)])


def compare(methods: Sequence[Method], scale: float, seed: int) -> list[MethodCompared]:
    """A row for each method. Among them are `PLAIN`, from which differences in correctness and tokens are taken, and
    `BEST`, from which differences in composite are taken; all answer the same questions."""
    by_name = {method.name: method for method in methods}
    return [_row(method, by_name[PLAIN], by_name[BEST], scale, seed) for method in methods]


def baselines_ahead(rows: Sequence[MethodCompared]) -> list[str]:
    """The methods with a higher composite than the evolved deltas, the highest first."""
    best = next(row for row in rows if row.method == BEST)
    ahead = [row for row in rows if row.composite > best.composite]
    return [row.method for row in sorted(ahead, key=lambda row: -row.composite)]


def composite_difference(a: Sequence[Outcome], b: Sequence[Outcome], scale: float, seed: int) -> Interval:
    """Composite of `a` minus that of `b` on the same questions, with its percentile interval over resampled questions.
    The composite is no mean of the answers' values, so each resample is scored as a whole."""
    first, second = _columns(a), _columns(b)
    generator, differences = np.random.default_rng(seed), []
    for _ in range(_RESAMPLES // _AT_ONCE):
        draws = generator.multinomial(len(a), np.full(len(a), 1 / len(a)), size=_AT_ONCE).astype(np.float64)
        differences.append(_composites(draws, first, scale) - _composites(draws, second, scale))
    low, high = np.quantile(np.concatenate(differences), [0.025, 0.975])
    return Interval(score(a, scale).composite - score(b, scale).composite, float(low), float(high))


def _columns(outcomes: Sequence[Outcome]) -> NDArray[np.float64]:
    """(answers, 3): tokens, right, judged."""
    return np.array([(o.tokens, bool(o.correct), o.correct is not None) for o in outcomes], dtype=np.float64)


def _composites(
    draws: NDArray[np.float64], columns: NDArray[np.float64], scale: float
) -> NDArray[np.float64]:
    """The composite of each resample: `draws` (resamples, answers) counts how often each answer is in it."""
    tokens, right, judged = (draws @ columns).T
    short = 1 / (1 + tokens / draws.sum(axis=1) / scale)
    return SHORTNESS_WEIGHT * short + CORRECTNESS_WEIGHT * right / np.maximum(judged, 1)


def _row(method: Method, plain: Method, best: Method, scale: float, seed: int) -> MethodCompared:
    figures = score(method.outcomes, scale)
    low, high = wilson(figures.correct, figures.judged)
    return MethodCompared(
        method=method.name, n=figures.judged, correctness=figures.correctness, wilson_low=low, wilson_high=high,
        mean_tokens=figures.mean_tokens, shortness=figures.shortness, composite=figures.composite,
        cannot_tell=figures.cannot_tell, cap=method.cap, prompt=method.prompt,
        **({} if method is best else _beside_best(method, best, scale, seed)),
        **({} if method is plain else _beside_plain(method, plain, seed)),
    )  # fmt: skip


def _beside_best(method: Method, best: Method, scale: float, seed: int) -> dict[str, Any]:
    ahead = composite_difference(method.outcomes, best.outcomes, scale, seed)
    return dict(zip(("ahead", "ahead_low", "ahead_high"), astuple(ahead), strict=True))


def _beside_plain(method: Method, plain: Method, seed: int) -> dict[str, Any]:
    """The differences from the answers without processor."""
    pairs = list(zip(method.outcomes, plain.outcomes, strict=True))
    tokens = paired_bootstrap([a.tokens for a, _ in pairs], [b.tokens for _, b in pairs], seed)
    row: dict[str, Any] = dict(
        zip(("tokens_difference", "tokens_low", "tokens_high"), astuple(tokens), strict=True)
    )
    both = [(a.correct, b.correct) for a, b in pairs if None not in (a.correct, b.correct)]
    if not both:
        return row
    steered, unsteered = [float(bool(a)) for a, _ in both], [float(bool(b)) for _, b in both]
    return row | asdict(paired_bootstrap(steered, unsteered, seed)) | {"p": mcnemar(steered, unsteered)}
