"""AnswerOnlyReward: the reward of a trajectory (spec GFlowNet 4.1, 4.2)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from engine.config.gflownet import RewardSection
from engine.gflownet.sampler.environment import Walks
from engine.gflownet.sampler.graph_batch import GraphBatch

SMALLEST_REWARD = 1e-8


@dataclass(frozen=True)
class RewardOutput:
    """All [J]. `reward` is at most 1, at least `SMALLEST_REWARD`; `log_reward`, which trajectory balance takes, its
    logarithm without that floor; the rest is for watching only."""

    log_reward: torch.Tensor
    reward: torch.Tensor
    success: torch.Tensor
    reach_frac: torch.Tensor
    answer_precision: torch.Tensor
    answer_recall: torch.Tensor
    answer_f1: torch.Tensor


class AnswerOnlyReward:
    """log R = log r_succ or log r_fail, + lambda_reach * share of answers met by a success, minus the largest
    possible value. A path is paid as a success that meets an answer; with `gold_paths` one that goes along a gold
    path to an answer: a path that meets it by chance is not, nor is a short cut."""

    def __init__(self, section: RewardSection) -> None:
        self.log_success = math.log(section.success_reward)
        self.log_failure = math.log(section.failure_reward)
        self.lambda_reach = section.lambda_reach
        self.gold_paths = section.kind == "gold_paths"

    def __call__(self, batch: GraphBatch, walks: Walks, like: torch.Tensor) -> RewardOutput:
        """Rewards of `walks`, in dtype and on device of `like`."""
        met, visited = answers_met(batch, walks)
        answers = batch.answer_count[walks.graph].clamp(min=1)
        hits = met.sum(1).to(like)
        success = hits > 0
        reach = hits / answers
        paid = gold(batch, walks) if self.gold_paths else success
        raw = torch.where(paid, self.log_success + self.lambda_reach * reach, self.log_failure)
        log_reward = (raw - self.log_success - self.lambda_reach).to(like)
        reward = log_reward.exp().clamp(min=SMALLEST_REWARD)
        precision = hits / visited.sum(1).clamp(min=1)
        return RewardOutput(log_reward, reward, success, reach, precision, reach, f1(precision, reach))


def gold(batch: GraphBatch, walks: Walks) -> torch.Tensor:
    """Whether a walk [J] has gold edges only, at least as many as the path that is taught, and ends at an answer. Where
    a gold path comes back to a node, fewer gold edges lead to its end as well: a short cut that answers another
    question."""
    end = walks.nodes.gather(1, walks.length[:, None])[:, 0]
    along = (gold_edges(batch, walks.edges) | (walks.edges < 0)).all(1)
    taught = (batch.gt_paths[walks.graph] >= 0).sum(1).clamp(min=1)
    return along & (walks.length >= taught) & batch.is_answer[end.clamp(min=0)]


def gold_edges(batch: GraphBatch, edges: torch.Tensor) -> torch.Tensor:
    """Which of `edges`, of any shape, are on a shortest or given path to an answer; -1, which is none, is not."""
    return torch.nn.functional.pad(batch.is_gt_edge, (0, 1))[edges]


AnswerDiffusionReward = AnswerOnlyReward


def answers_met(batch: GraphBatch, walks: Walks) -> tuple[torch.Tensor, torch.Tensor]:
    """Two masks over `walks.nodes` [J, T + 1]: answers that an edge leads to, and all nodes; each node counted where
    it first comes. A start that is an answer is met by a walk that comes back to it, not by every walk."""
    nodes = walks.nodes
    answers = first_occurrences(nodes[:, 1:]) & batch.is_answer[nodes[:, 1:].clamp(min=0)]
    return torch.nn.functional.pad(answers, (1, 0)), first_occurrences(nodes)


def first_occurrences(walked: torch.Tensor) -> torch.Tensor:
    """Where each node or edge of a row comes first; not behind the end (-1)."""
    earlier = torch.ones(walked.shape[1], walked.shape[1], dtype=torch.bool, device=walked.device).tril(-1)
    return (walked >= 0) & ~((walked[:, :, None] == walked[:, None, :]) & earlier).any(2)


def f1(precision: torch.Tensor, recall: torch.Tensor, epsilon: float = 1e-12) -> torch.Tensor:
    """Harmonic mean, 0 where both are."""
    return 2 * precision * recall / (precision + recall + epsilon)
