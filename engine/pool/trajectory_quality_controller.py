"""Trajectories worth training on: only improvements come in, a fixed number goes out (spec Pool 5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from engine.pool.data.records import TrajectoryData

HIGHER_MAXIMUM, NEW_SCORE = "higher maximum", "new score"
NO_IMPROVEMENT, NEVER_SCORED = "no improvement", "never scored"
COMMITS = frozenset({HIGHER_MAXIMUM, NEW_SCORE})
REPEATED = "repeated"
"""Field of a trajectory that stands in the data once more because there were too few."""

_CLOSE = 1e-9
"""Scores nearer than this are the same score."""


def is_positive(score: float) -> bool:
    """Fully right."""
    return score >= 1 - _CLOSE


def is_partial(score: float) -> bool:
    """0 < score < 1 (DESIGN 7)."""
    return _CLOSE < score < 1 - _CLOSE


class TrajectoryQualityController:
    """Commit-on-improve, quotas, and exactly `target_trajectory_count`."""

    def __init__(
        self, target_trajectory_count: int = 12, positive_quota: int = 4, partial_quota: int = 2
    ) -> None:
        self.target_trajectory_count = target_trajectory_count
        self.positive_quota = positive_quota
        self.partial_quota = partial_quota

    # ------------------------------------------------------------ commit-on-improve

    def rule(self, current: Sequence[TrajectoryData], new: TrajectoryData) -> str:
        """By which rule `new` is committed (`COMMITS`) or refused."""
        if new.failed:
            return NEVER_SCORED
        scores = {_same(one.vqa_acc_score) for one in current if not one.failed}
        score = _same(new.vqa_acc_score)
        if score > max(scores, default=0.0):
            return HIGHER_MAXIMUM
        return NO_IMPROVEMENT if score in scores else NEW_SCORE

    def should_commit(self, current: Sequence[TrajectoryData], new: TrajectoryData) -> bool:
        """Whether `new` raises the best score, or has one that is not there yet."""
        return self.rule(current, new) in COMMITS

    # ------------------------------------------------------------ the final selection

    def ranked(self, trajectories: Sequence[TrajectoryData]) -> list[TrajectoryData]:
        """All that were scored, in the order in which they are given places: positives and partly right ones up to
        their quotas, wrong ones, then what the quotas left over. Within a class each score comes once before any
        comes twice."""
        scored = [one for one in trajectories if not one.failed]
        positive = [one for one in scored if is_positive(one.vqa_acc_score)]
        partial = _each_score_first([one for one in scored if is_partial(one.vqa_acc_score)])
        wrong = [one for one in scored if one.vqa_acc_score <= _CLOSE]
        p, q = self.positive_quota, self.partial_quota
        return positive[:p] + partial[:q] + wrong + positive[p:] + partial[q:]

    def choose(self, trajectories: Sequence[TrajectoryData]) -> list[TrajectoryData]:
        """The best ones, at most `target_trajectory_count`."""
        return self.ranked(trajectories)[: self.target_trajectory_count]

    def select_final_trajectories(
        self, all_trajectories: Sequence[TrajectoryData], reserve: Sequence[TrajectoryData] = ()
    ) -> list[TrajectoryData]:
        """Exactly `target_trajectory_count`, or none where there is none at all.

        `reserve` (what was refused) is taken only for places that would else hold repetitions. These go round
        the selection in order and carry the field `repeated`.
        """
        chosen = self.choose(all_trajectories)
        chosen += self.ranked(reserve)[: self.target_trajectory_count - len(chosen)]
        if not chosen:
            return []
        missing = self.target_trajectory_count - len(chosen)
        again = [chosen[number % len(chosen)] for number in range(missing)]
        return chosen + [msgspec.structs.replace(one, extra={**one.extra, REPEATED: True}) for one in again]


def _same(score: float) -> float:
    return round(score, 9)


def _each_score_first(trajectories: Sequence[TrajectoryData]) -> list[TrajectoryData]:
    """By how often the score came before, then by falling score."""
    seen: Counter[float] = Counter()
    keyed: list[tuple[int, float, int]] = []
    for number, one in enumerate(trajectories):
        score = _same(one.vqa_acc_score)
        keyed.append((seen[score], -score, number))
        seen[score] += 1
    return [trajectories[number] for _, _, number in sorted(keyed)]
