"""Chooses trajectories to train on: commits only improvements, selects a fixed number (spec Pool 5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from engine.pool.data.records import TrajectoryData

HIGHER_MAXIMUM, NEW_SCORE = "higher maximum", "new score"
NO_IMPROVEMENT, NEVER_SCORED = "no improvement", "never scored"
COMMITS = frozenset({HIGHER_MAXIMUM, NEW_SCORE})
REPEATED, REFUSED_BY = "repeated", "refused"
"""Fields of trajectories that fill up a query with too few: true of a repeated one; the rule that refused one."""

_CLOSE = 1e-9
"""Scores nearer than this are the same score."""


def is_positive(score: float) -> bool:
    """Whether the answer is fully right."""
    return score >= 1 - _CLOSE


def is_partial(score: float) -> bool:
    """Whether the answer is partly right: 0 < score < 1."""
    return _CLOSE < score < 1 - _CLOSE


@dataclass(frozen=True)
class TrajectoryQualityController:
    """Commits trajectories that improve a query, and selects `target_trajectory_count` by quotas.

    `fill_with_refused`: whether refused ones come before repetitions where too few are committed.
    """

    target_trajectory_count: int = 12
    positive_quota: int = 4
    partial_quota: int = 2
    fill_with_refused: bool = field(default=False, kw_only=True)

    # ------------------------------------------------------------ commit-on-improve

    def rule(self, current: Sequence[TrajectoryData], new: TrajectoryData) -> str:
        """The rule by which `new` is committed (one of `COMMITS`) or refused (spec Pool 5, commit-on-improve)."""
        if new.failed:
            return NEVER_SCORED
        scores = {_rounded(old.vqa_acc_score) for old in current if not old.failed}
        score = _rounded(new.vqa_acc_score)
        if score > max(scores, default=0.0):
            return HIGHER_MAXIMUM
        return NO_IMPROVEMENT if score in scores else NEW_SCORE

    def should_commit(
        self, current_trajectories: Sequence[TrajectoryData], new_trajectory: TrajectoryData
    ) -> bool:
        """Whether the new trajectory raises the best score, or has a score that none has."""
        return self.rule(current_trajectories, new_trajectory) in COMMITS

    # ------------------------------------------------------------ the final selection

    def ranked(self, trajectories: Sequence[TrajectoryData]) -> list[TrajectoryData]:
        """Scored trajectories in order of preference: fully and partly right ones up to their quotas, wrong ones, then
        the rest. Of partly right ones, each score comes once before any comes twice."""
        scored = [item for item in trajectories if not item.failed]
        positive = [item for item in scored if is_positive(item.vqa_acc_score)]
        partial = _each_score_first([item for item in scored if is_partial(item.vqa_acc_score)])
        wrong = [item for item in scored if item.vqa_acc_score <= _CLOSE]
        p, q = self.positive_quota, self.partial_quota
        return positive[:p] + partial[:q] + wrong + positive[p:] + partial[q:]

    def choose(self, trajectories: Sequence[TrajectoryData]) -> list[TrajectoryData]:
        """The best ones, at most `target_trajectory_count`."""
        return self.ranked(trajectories)[: self.target_trajectory_count]

    def select_final_trajectories(
        self, all_trajectories: Sequence[TrajectoryData], refused: Sequence[TrajectoryData] = ()
    ) -> list[TrajectoryData]:
        """Exactly `target_trajectory_count` trajectories, or none without any to choose from (spec Pool, property 6).

        Where they are too few, they are repeated; repetitions carry the field `repeated`. Right and partly right ones
        are repeated up to their quotas and wrong ones beyond that; without wrong ones all take turns.
        Under `fill_with_refused` those of `refused`, which carry the field `refused`, come before any repetition.
        """
        chosen = self.choose(all_trajectories)
        if self.fill_with_refused:
            chosen += self.ranked(refused)[: self.target_trajectory_count - len(chosen)]
        if not chosen:
            return []
        missing = self.target_trajectory_count - len(chosen)
        again, scores = chosen * missing, [item.vqa_acc_score for item in chosen]
        if any(score <= _CLOSE for score in scores):
            positive = max(0, self.positive_quota - sum(map(is_positive, scores)))
            partial = max(0, self.partial_quota - sum(map(is_partial, scores)))
            again = TrajectoryQualityController(missing, positive, partial).ranked(again)
        return chosen + [
            msgspec.structs.replace(old, extra={**old.extra, REPEATED: True}) for old in again[:missing]
        ]


def _rounded(score: float) -> float:
    return round(score, 9)


def _each_score_first(trajectories: Sequence[TrajectoryData]) -> list[TrajectoryData]:
    """Trajectories by how often their score came before, then by falling score."""
    seen: Counter[float] = Counter()
    keyed: list[tuple[int, float, int]] = []
    for number, trajectory in enumerate(trajectories):
        score = _rounded(trajectory.vqa_acc_score)
        keyed.append((seen[score], -score, number))
        seen[score] += 1
    return [trajectories[number] for _, _, number in sorted(keyed)]
