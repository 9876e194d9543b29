"""CAST's condition (Lee et al. 2024, arXiv 2409.05907): one vector, added only where the state looks like one that
needs it.

The condition vector c is the first principal component of the states of both kinds about the midpoint of their two
means. A state h has the similarity cos(h, tanh(proj_c h)). Threshold and side (at least, or below) are those with
the largest F1 in separating the two kinds of states.

Ours differs in this: the two kinds are the library's keys at the layer, states before a wrong and before a right
continuation of training problems, not two sets of prompts; the condition is asked anew before each segment, on the
state at its last token, not once on the mean state of the prompt; the vector that is added is the mean of the
library's vectors at that layer, once before the segment, not at every token. Nothing of the evaluation is looked at.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.lm.protocol import Vector

States = NDArray[np.floating]
"""(n, hidden_size)"""
_CANDIDATES = 200
"""Thresholds that are tried, at equal ranks of the similarities seen."""


@dataclass(frozen=True)
class Condition:
    """`vector`: of length 1. `at_least`: met by similarities from `threshold` on, else by those below it. `f1`: with
    which it separated the states it was made from."""

    vector: Vector
    threshold: float
    at_least: bool
    f1: float

    def met(self, state: NDArray[np.floating]) -> bool:
        """`state`: (hidden_size,), not normalised."""
        similarity = float(similarities(state[None], self.vector)[0])
        return (similarity >= self.threshold) is self.at_least


def condition_vector(steer: States, leave: States) -> Vector:
    """(hidden_size,) of length 1; its sign means nothing, since the similarity does not depend on it."""
    steer, leave = steer.astype(np.float64), leave.astype(np.float64)
    middle = (steer.mean(axis=0) + leave.mean(axis=0)) / 2
    return np.linalg.svd(np.concatenate([steer, leave]) - middle, full_matrices=False)[2][0].astype(
        np.float32
    )


def similarities(states: States, vector: Vector) -> NDArray[np.float64]:
    """cos(h, tanh((h · c) c)) for each state h: (n,); 0 where the projection is."""
    states, unit = states.astype(np.float64), vector.astype(np.float64)
    projected = np.tanh((states @ unit)[:, None] * unit)
    lengths = np.linalg.norm(states, axis=1) * np.linalg.norm(projected, axis=1)
    return np.einsum("ij,ij->i", states, projected) / np.maximum(lengths, 1e-12)


def fit(steer: States, leave: States) -> Condition:
    """From states that want steering and states that want none, at least one of each."""
    vector = condition_vector(steer, leave)
    cosines = np.concatenate([similarities(steer, vector), similarities(leave, vector)])
    steered = np.arange(len(cosines)) < len(steer)
    ranks = np.linspace(0, len(cosines) - 1, min(_CANDIDATES, len(cosines))).round().astype(int)
    best = Condition(vector, 0.0, True, -1.0)
    for threshold in np.unique(np.sort(cosines)[ranks]):
        for at_least in (True, False):
            f1 = _f1((cosines >= threshold) == at_least, steered)
            if f1 > best.f1:
                best = Condition(vector, float(threshold), at_least, f1)
    return best


def _f1(predicted: NDArray[np.bool_], steered: NDArray[np.bool_]) -> float:
    return 2 * float((predicted & steered).sum()) / max(float(predicted.sum() + steered.sum()), 1.0)
