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
    """All [J]. `reward` is at most 1 and `log_reward` its logarithm; the rest is for watching only."""

    log_reward: torch.Tensor
    reward: torch.Tensor
    success: torch.Tensor
    reach_frac: torch.Tensor
    answer_precision: torch.Tensor
    answer_recall: torch.Tensor
    answer_f1: torch.Tensor


class AnswerOnlyReward:
    """log R = log r_succ or log r_fail, + lambda_reach * share of answers met by a success, minus the largest
    possible value."""

    def __init__(self, section: RewardSection) -> None:
        self.log_success = math.log(section.success_reward)
        self.log_failure = math.log(section.failure_reward)
        self.lambda_reach = section.lambda_reach

    def __call__(self, batch: GraphBatch, walks: Walks, like: torch.Tensor) -> RewardOutput:
        """Rewards of `walks`, in dtype and on device of `like`."""
        met, visited = answers_met(batch, walks)
        answers = batch.answer_count[walks.graph].clamp(min=1)
        hits = met.sum(1).to(like)
        success = hits > 0
        reach = hits / answers
        raw = torch.where(success, self.log_success + self.lambda_reach * reach, self.log_failure)
        log_reward = (
            (raw - self.log_success - self.lambda_reach).to(like).clamp(min=math.log(SMALLEST_REWARD))
        )
        precision = hits / visited.sum(1).clamp(min=1)
        return RewardOutput(
            log_reward, log_reward.exp(), success, reach, precision, reach, f1(precision, reach)
        )


AnswerDiffusionReward = AnswerOnlyReward


def answers_met(batch: GraphBatch, walks: Walks) -> tuple[torch.Tensor, torch.Tensor]:
    """Two masks over `walks.nodes` [J, T + 1]: answers, and all nodes; each node counted where it first comes."""
    nodes = walks.nodes
    earlier = torch.ones(nodes.shape[1], nodes.shape[1], dtype=torch.bool, device=nodes.device).tril(-1)
    again = ((nodes[:, :, None] == nodes[:, None, :]) & earlier).any(2)
    visited = (nodes >= 0) & ~again
    return visited & batch.is_answer[nodes.clamp(min=0)], visited


def f1(precision: torch.Tensor, recall: torch.Tensor, epsilon: float = 1e-12) -> torch.Tensor:
    """Harmonic mean, 0 where both are."""
    return 2 * precision * recall / (precision + recall + epsilon)
