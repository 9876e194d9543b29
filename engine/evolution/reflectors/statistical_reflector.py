"""A reflector without a language model: it compares which clusters long or wrong answers use with which short right
ones do. It uses counts of tokens alone.

For each cluster: *padding* is its share of the tokens that the longest answers have on top of the shortest right
ones, minus its share in those; *missing* is how much less of it wrong answers hold than right ones. A step goes
against padding and towards what is missing. It is halved each time the composite fell by more than its error, and
then starts from the best deltas again (a backtracking search; Nocedal & Wright 2006, ch. 3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.evolution.clusters.cluster_map import EOS_CLUSTER, NUMBER_CLUSTER
from engine.evolution.deltas import Deltas
from engine.evolution.reflectors.reflector import JudgedAnswer, ReflectorInput, ReflectorReply

Counts = NDArray[np.float64]
"""(answers, clusters): tokens of each answer in each cluster."""

_THIRD = 3
_NAMED = 3


@dataclass(frozen=True)
class Evidence:
    """What an iteration's answers say about each cluster, (clusters,) each, in [-1, 1].

    `long`, `short`: mean tokens of the longest answers and of the shortest right ones; `wrong`: share of wrong
    answers among the judged.
    """

    padding: NDArray[np.float64]
    missing: NDArray[np.float64]
    long: float
    short: float
    wrong: float


class StatisticalReflector:
    """Offline and deterministic. `step`: largest change of a delta at first; `limit`: largest delta."""

    name = "statistical (offline)"

    def __init__(self, step: float, limit: float) -> None:
        self._step = step
        self._limit = limit

    def reflect(self, given: ReflectorInput, message: str) -> ReflectorReply:
        """New deltas from counts; `message` is not used."""
        names = list(given.deltas)
        evidence = gather(given.answers, len(names))
        base, step, worse = search_state(given, self._step)
        change = step * direction(evidence)
        deltas = {
            name: round(float(np.clip(base[name] + change[place], -self._limit, self._limit)), 4)
            for place, name in enumerate(names)
        }
        return ReflectorReply(deltas, _summary(given, evidence, deltas, step, worse))


def search_state(given: ReflectorInput, first_step: float) -> tuple[Deltas, float, bool]:
    """(deltas to start from, length of the step, whether the last step made things worse).

    Every past iteration whose composite lay below the best before it by more than its error halves the step.
    """
    step, best, best_deltas, worse = first_step, float("-inf"), dict(given.deltas), False
    for item in given.history.iterations:
        worse = item.score.composite < best - item.score.error
        if worse:
            step /= 2
        if item.score.composite > best:
            best, best_deltas = item.score.composite, item.deltas
    return (best_deltas if worse else dict(given.deltas)), step, worse


def gather(answers: Sequence[JudgedAnswer], clusters: int) -> Evidence:
    """Compare the cluster counts of long, short, right and wrong answers."""
    counts = np.stack([_counts(answer, clusters) for answer in answers])
    lengths = counts.sum(axis=1)
    right = np.array([answer.correct is True for answer in answers])
    judged = np.array([answer.correct is not None for answer in answers])
    wrong = judged & ~right
    pool = np.flatnonzero(right) if right.any() else np.arange(len(answers))
    size = max(1, len(pool) // _THIRD)
    short = pool[np.argsort(lengths[pool], kind="stable")[:size]]
    long = np.argsort(-lengths, kind="stable")[: max(1, len(answers) // _THIRD)]
    return Evidence(
        padding=_share(np.maximum(counts[long].mean(0) - counts[short].mean(0), 0))
        - _share(counts[short].mean(0)),
        missing=_missing(counts, right, wrong),
        long=float(lengths[long].mean()),
        short=float(lengths[short].mean()),
        wrong=float(wrong.sum() / max(judged.sum(), 1)),
    )


def direction(evidence: Evidence) -> NDArray[np.float64]:
    """Change of each delta for a step of 1, within [-1, 1]."""
    excess = max(0.0, 1.0 - evidence.short / max(evidence.long, 1e-9))
    change = -excess * _scaled_to_one(np.maximum(evidence.padding, 0)) + evidence.wrong * evidence.missing
    # Numbers are what answers are for: they are never discouraged. The end comes sooner while there is excess.
    change[NUMBER_CLUSTER] = max(change[NUMBER_CLUSTER], 0.0)
    change[EOS_CLUSTER] = excess * (1 - evidence.wrong) - evidence.wrong * (evidence.long < evidence.short)
    return np.clip(change, -1.0, 1.0)


def _counts(answer: JudgedAnswer, clusters: int) -> Counts:
    ids = np.asarray(answer.clusters, dtype=np.int64)
    return np.bincount(ids[ids < clusters], minlength=clusters).astype(np.float64)


def _share(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    return counts / max(float(counts.sum()), 1e-9)


def _scaled_to_one(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return values / max(float(np.abs(values).max()), 1e-9)


def _missing(counts: Counts, right: NDArray[np.bool_], wrong: NDArray[np.bool_]) -> NDArray[np.float64]:
    """By how much wrong answers hold less of a cluster than right ones, as a share of the latter."""
    if not right.any() or not wrong.any():
        return np.zeros(counts.shape[1])
    of_right, of_wrong = counts[right].mean(0), counts[wrong].mean(0)
    return np.clip((of_right - of_wrong) / np.maximum(of_right, 1.0), 0.0, 1.0)


def _signed(value: float) -> str:
    return f"{value:+.2f}".replace("-", "−")


def _summary(given: ReflectorInput, evidence: Evidence, deltas: Deltas, step: float, worse: bool) -> str:
    names = list(given.deltas)
    most = [place for place in np.argsort(-evidence.padding)[:_NAMED] if evidence.padding[place] > 0]
    padded = ", ".join(f"{names[place]} ({_tokens(given, names[place])})" for place in most) or "none"
    moved = sorted(names, key=lambda name: -abs(deltas[name] - given.deltas[name]))[:_NAMED]
    changes = ", ".join(
        f"{name} ({_tokens(given, name)}) {_signed(given.deltas[name])} to {_signed(deltas[name])}"
        for name in moved
    )
    first = (
        f"By counting: the longest answers have {evidence.long:.0f} tokens, the shortest right ones "
        f"{evidence.short:.0f}, and {evidence.wrong:.0%} are wrong."
    )
    search = (
        f"The last step made the composite worse, so I go back to the best deltas with a step of {step:.3g}."
        if worse
        else f"The step stays at {step:.3g}."
    )
    return f"{first} Most of what is on top lies in clusters {padded}. I changed {changes}. {search}"


def _tokens(given: ReflectorInput, name: str) -> str:
    described = given.descriptions.get(name)
    tokens = (described.frequent_tokens or described.central_tokens)[:2] if described else []
    return " ".join(token.strip() or repr(token) for token in tokens) or "no tokens"
