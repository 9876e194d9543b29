"""One control point's decision: retrieve, weigh, score, choose (spec ESM 6.3 to 6.9). No model in here.

Gates, in the order they are asked: first_segment, no_memory, tool_range, min_entries, min_sim,
no_candidates, then by Score tie, null_best, tau_null, or chosen. `always`: one vector is added, nothing is weighed.
`condition`: the state does not meet the condition of `cast`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from engine.config.esm import OnlineSection
from engine.esm.library.memory import Entry, EpisodicMemory

TIE = 1e-12
"""Scores closer to null than this go to null."""


@dataclass(frozen=True)
class Hit:
    """A retrieved entry: cosine, and A-hat = similarity * quality (spec ESM 6.4)."""

    entry: Entry
    similarity: float
    ahat: float


@dataclass(frozen=True)
class Retrieval:
    """`gate` is set when memory may not be used; `hits` are the k nearest, best first."""

    gate: str | None
    size: int = 0
    hits: list[Hit] = field(default_factory=list)

    @property
    def top_similarity(self) -> float | None:
        """Of the nearest entry."""
        return self.hits[0].similarity if self.hits else None

    def null_ahat(self) -> float:
        """Support for null: the largest A-hat of a right entry, 0 without one (spec ESM 6.5)."""
        return max((hit.ahat for hit in self.hits if hit.entry.vector is None), default=0.0)

    def candidates(self, most: int) -> list[Hit]:
        """The L injectable hits of largest A-hat, the nearer first among equals (spec ESM 6.6)."""
        injectable = [hit for hit in self.hits if hit.entry.vector is not None]
        return sorted(injectable, key=lambda hit: -hit.ahat)[:most]


@dataclass(frozen=True)
class Probe:
    """Mean token log-probabilities (nats): one a candidate, and null's."""

    logprobs: list[float]
    null: float


@dataclass(frozen=True)
class Choice:
    """`index` into the candidates, None for null; `scores` one a candidate; `alpha` the injected scale."""

    gate: str
    index: int | None
    scores: list[float]
    null_score: float
    alpha: float = 0.0


def retrieve(memory: EpisodicMemory, m: int, states: NDArray[np.float32], online: OnlineSection) -> Retrieval:
    """Nearest entries before segment `m` is written: those mined after segment m - 1 (spec ESM 1.3, 6.3)."""
    rows, similarity = memory.similarities(m - 1, states)
    if len(rows) < max(online.min_entries, 1):
        return Retrieval("min_entries", len(rows))
    hits = [
        Hit(
            memory.entries[rows[i]],
            float(similarity[i]),
            float(similarity[i]) * memory.entries[rows[i]].quality,
        )
        for i in _nearest(similarity, online.k_retrieve)
    ]
    if hits[0].similarity < online.min_sim:
        return Retrieval("min_sim", len(rows), hits)
    injectable = any(hit.entry.vector is not None for hit in hits)
    return Retrieval(None if injectable else "no_candidates", len(rows), hits)


def _nearest(similarity: NDArray[np.float32], k: int) -> NDArray[np.int64]:
    """Places of the `k` largest, largest first, the earlier first among equals: without sorting the whole."""
    places = np.arange(len(similarity))
    if k < len(similarity):
        places = np.flatnonzero(similarity >= np.partition(similarity, -k)[-k])
    return places[np.argsort(-similarity[places], kind="stable")[:k]]


def always(strength: float) -> Choice:
    """The first candidate, without weighing anything."""
    return Choice("always", 0, [strength], 0.0, alpha=strength)


def choose(candidates: list[Hit], null_ahat: float, probe: Probe | None, online: OnlineSection) -> Choice:
    """Score_i = beta * A-hat_i + rho * (logprob_i - logprob_null); null scores beta * A-hat_null; the largest
    wins unless it ties with null or lies below tau_null (spec ESM 6.7 to 6.9). Without a probe: A-hat alone."""
    gains = [logprob - probe.null for logprob in probe.logprobs] if probe else [0.0] * len(candidates)
    scores = [online.beta * hit.ahat + online.rho * gain for hit, gain in zip(candidates, gains, strict=True)]
    null_score = online.beta * null_ahat
    best = int(np.argmax(scores))
    if abs(scores[best] - null_score) <= TIE:
        return Choice("tie", None, scores, null_score)
    if scores[best] < null_score:
        return Choice("null_best", None, scores, null_score)
    if scores[best] < online.tau_null:
        return Choice("tau_null", None, scores, null_score)
    return Choice("chosen", best, scores, null_score, alpha=online.k_scale * scores[best])
