"""How far P_F is from the distribution that the reward asks for, on graphs small enough to list every path."""

from __future__ import annotations

import torch

from engine.gflownet.sampler.actor import GFlowNetActor, Sampling
from engine.gflownet.sampler.embedder import Tokens
from engine.gflownet.sampler.environment import enumerate_walks
from engine.gflownet.sampler.graph_batch import GraphBatch
from engine.gflownet.sampler.reward import AnswerOnlyReward

MOST_PATHS = 20_000


def total_variation(
    actor: GFlowNetActor, reward: AnswerOnlyReward, batch: GraphBatch, tokens: Tokens, sampling: Sampling
) -> torch.Tensor:
    """Half the sum over all paths of |P_F - R / sum R|, of each graph [B]: 0 for a perfect sampler of `exact` mode, at
    most 1. NaN for graphs of more than MOST_PATHS paths."""
    keys = actor.policy.prepare(batch, tokens)
    distances = batch.question_emb.new_full((batch.size,), torch.nan)
    for graph in range(batch.size):
        try:
            walks = enumerate_walks(actor.env, batch, graph, MOST_PATHS)
        except ValueError:
            continue
        p_f = actor.score(batch, tokens, walks.graph, walks.edges, sampling, keys).log_pf.exp()
        worth = reward(batch, walks, p_f).reward
        distances[graph] = (p_f - worth / worth.sum()).abs().sum() / 2
    return distances
