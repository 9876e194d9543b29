"""Positive and negative sets of a control point, and their contrast (spec ESM 3.4 to 3.7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.config.esm import OfflineMineSection
from engine.lm.protocol import Vector


@dataclass(frozen=True)
class Rollout:
    """One scored text. `states`: (segments, layers, hidden_size) at the last token of each segment; `ends[i]`: its
    tokens up to and including that of segment i."""

    text: str
    token_ids: list[int]
    correct: bool
    reward: float
    pred: str
    states: NDArray[np.float32]
    ends: list[int]
    source: str = "rollout"

    @property
    def tokens(self) -> int:
        """Its length in tokens."""
        return len(self.token_ids)

    def reaches(self, m: int) -> bool:
        """Whether the text has an m-th delimiter (m from 1)."""
        return len(self.states) >= m


@dataclass(frozen=True)
class Contrast:
    """Means over positives and negatives at one control point and layer: all vectors (hidden_size,)."""

    right_key: Vector
    wrong_key: Vector
    quality: float

    @property
    def delta(self) -> Vector:
        """The raw correction vector, not normalised."""
        return self.right_key - self.wrong_key


def split_rollouts(
    rollouts: Sequence[Rollout], gold: Rollout | None, m: int, config: OfflineMineSection
) -> tuple[list[Rollout], list[Rollout]] | None:
    """Positives (highest rewards) and negatives (lowest) at control point m; None where there is no contrast.

    Ties keep the order of the draws, so the sets never depend on anything but the rollouts.
    """
    valid = [rollout for rollout in rollouts if rollout.reaches(m)]
    gold = gold if gold is not None and gold.reaches(m) else None
    if config.require_correct_and_incorrect:
        right = [rollout for rollout in valid if rollout.correct]
        wrong = [rollout for rollout in valid if not rollout.correct]
        right = _with_gold(right, gold, config)
        if len(wrong) < config.min_incorrect_rollouts or not _enough(right, config):
            return None
    else:
        ranked = sorted(valid, key=lambda rollout: -rollout.reward)
        right, wrong = ranked[: len(ranked) // 2], ranked[len(ranked) // 2 :]
        right = _with_gold(right, gold, config)
    positives = sorted(right, key=lambda rollout: -rollout.reward)[: config.K_pos]
    negatives = sorted(wrong, key=lambda rollout: rollout.reward)[: config.K_neg]
    return (positives, negatives) if positives and negatives else None


def _with_gold(right: list[Rollout], gold: Rollout | None, config: OfflineMineSection) -> list[Rollout]:
    if config.pos_source == "gold":
        return [gold] if gold else []
    if config.pos_source == "rollout_or_gold" and gold and len(right) < config.min_correct_rollouts:
        return [*right, gold]
    return right


def _enough(right: list[Rollout], config: OfflineMineSection) -> bool:
    """A gold text counts for the minimum: it is there because right rollouts are rare."""
    has_gold = any(rollout.source == "gold" for rollout in right)
    return has_gold or len(right) >= config.min_correct_rollouts


def contrast(
    positives: Sequence[Rollout], negatives: Sequence[Rollout], m: int, layer_index: int
) -> Contrast | None:
    """Mean states and the reward gap; None where the gap is not positive or a state not finite."""
    right_key = _mean_state(positives, m, layer_index)
    wrong_key = _mean_state(negatives, m, layer_index)
    quality = float(np.mean([r.reward for r in positives]) - np.mean([r.reward for r in negatives]))
    usable = quality > 0 and np.isfinite(right_key).all() and np.isfinite(wrong_key).all()
    return Contrast(right_key, wrong_key, quality) if usable and np.isfinite(quality) else None


def _mean_state(rollouts: Sequence[Rollout], m: int, layer_index: int) -> Vector:
    states = np.stack([rollout.states[m - 1, layer_index] for rollout in rollouts])
    return np.asarray(states.mean(axis=0), dtype=np.float32)
