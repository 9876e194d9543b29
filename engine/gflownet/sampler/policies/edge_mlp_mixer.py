"""EdgeMLPMixer: an MLP over edge token and walk, each edge by itself (spec GFlowNet 3.1)."""

from __future__ import annotations

import torch
from torch import nn

from engine.gflownet.sampler.embedder import Tokens
from engine.gflownet.sampler.environment import Frontier
from engine.gflownet.sampler.graph_batch import GraphBatch
from engine.gflownet.sampler.policies.policy import RecurrentPolicy


class EdgeMLPMixerPolicy(RecurrentPolicy):
    """logit(e) = w . gelu(W_k phi_e + W_s state): the first layer is split, so its edge half is made once."""

    def __init__(self, hidden: int, max_steps: int) -> None:
        super().__init__(hidden, max_steps)
        self.edge_half = nn.Linear(hidden, hidden)
        self.walk_half = nn.Linear(hidden, hidden, bias=False)
        # Runs name their weights so.
        self.score = nn.Sequential(nn.GELU(), nn.Identity(), nn.Linear(hidden, 1))
        self.stop = nn.Sequential(nn.Linear(hidden, hidden), nn.GELU(), nn.Linear(hidden, 1))

    def prepare(self, batch: GraphBatch, tokens: Tokens) -> torch.Tensor:
        return self.edge_half(tokens.edge)

    def logits(
        self, keys: torch.Tensor, memory: torch.Tensor, frontier: Frontier, step: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        state = memory + self.steps.weight[step]
        mixed = keys[frontier.edge] + self.walk_half(state)[frontier.owner]
        return self.score(mixed)[:, 0], self.stop(state)[:, 0]
