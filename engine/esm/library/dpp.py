"""Greedy maximisation of quality and diversity (spec ESM 4.2, 4.3; greedy MAP after Chen et al. 2018).

maximise  sum_i log(1 + Q_i) + lambda * log det(K_S + epsilon I),   K_ij = cosine of keys i and j.

The N x N Gram matrix is never built: each pick computes one column of it and one Cholesky row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Pick:
    """One step of the greedy: `gain` of the objective, the `objective` after it, and the largest cosine to
    what was picked before (-1 for the first)."""

    index: int
    gain: float
    objective: float
    max_similarity: float


class GreedyDpp:
    """Picks items one by one. `keys`: (N, d), normalised here; `quality`: (N,), above -1."""

    def __init__(
        self,
        keys: NDArray[np.float32],
        quality: NDArray[np.float64],
        lambda_diversity: float,
        epsilon: float,
        size: int,
    ) -> None:
        norms = np.linalg.norm(keys.astype(np.float64), axis=1, keepdims=True)
        self._keys = keys / np.maximum(norms, 1e-12)
        self._relevance = np.log1p(quality)
        self._lambda = lambda_diversity
        # Exactly 1 on the diagonal: computed self-products differ in the last digit and would decide ties.
        self._residual = np.where(norms[:, 0] > 0, 1.0, 0.0) + epsilon
        self._epsilon = epsilon
        self._rows = np.zeros((size, len(keys)))
        self._count = 0
        self._free = np.ones(len(keys), dtype=bool)
        self._nearest = np.full(len(keys), -1.0)
        self.objective = 0.0

    def gains(self) -> NDArray[np.float64]:
        """What every item would add to the objective; -inf for items already taken."""
        gains = self._relevance + self._lambda * np.log(np.maximum(self._residual, 1e-300))
        return np.where(self._free, gains, -np.inf)

    def best(self) -> int:
        """Index of the largest gain, the lowest index among equals."""
        return int(np.argmax(self.gains()))

    def take(self, index: int) -> Pick:
        """Add `index` to the selection."""
        gain = float(self.gains()[index])
        nearest = float(self._nearest[index])
        column = self._keys @ self._keys[index]
        rows = self._rows[: self._count]
        row = (column - rows[:, index] @ rows) / np.sqrt(self._residual[index])
        self._rows[self._count] = row
        self._count += 1
        # an item taken already keeps epsilon on its own diagonal only; the others lose what it explains
        self._residual = np.maximum(self._residual - row**2, self._epsilon * 1e-6)
        self._free[index] = False
        self._nearest = np.maximum(self._nearest, column)
        self.objective += gain
        return Pick(index, gain, self.objective, nearest)
