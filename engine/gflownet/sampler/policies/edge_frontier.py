"""EdgeFrontier: every edge is scored knowing its rivals (spec GFlowNet 3.1)."""

from __future__ import annotations

import torch
from torch import nn
from torch_geometric.utils import scatter

from engine.gflownet.sampler.embedder import Tokens
from engine.gflownet.sampler.environment import Frontier
from engine.gflownet.sampler.graph_batch import GraphBatch
from engine.gflownet.sampler.policies.policy import RecurrentPolicy


class EdgeFrontierPolicy(RecurrentPolicy):
    """The walk looks over its frontier (mean of keys, and log of how many there are), then scores each edge and
    STOP in view of that."""

    def __init__(self, hidden: int, max_steps: int) -> None:
        super().__init__(hidden, max_steps)
        self.edge_half = nn.Linear(hidden, hidden)
        self.rivals = nn.Linear(hidden + 1, hidden)
        self.walk_half = nn.Linear(2 * hidden, hidden)
        # Runs name their weights so.
        self.score = nn.Sequential(nn.GELU(), nn.Identity(), nn.Linear(hidden, 1))
        self.stop = nn.Sequential(nn.GELU(), nn.Linear(hidden, 1))

    def prepare(self, batch: GraphBatch, tokens: Tokens) -> torch.Tensor:
        return self.edge_half(tokens.edge)

    def logits(
        self, keys: torch.Tensor, memory: torch.Tensor, frontier: Frontier, step: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        state = memory + self.steps.weight[step]
        edge = keys[frontier.edge]
        view = torch.cat([state, self.rivals(_overview(edge, frontier.owner, memory.shape[0]))], 1)
        context = self.walk_half(view)
        return self.score(edge + context[frontier.owner])[:, 0], self.stop(context)[:, 0]


def _overview(edge: torch.Tensor, owner: torch.Tensor, owners: int) -> torch.Tensor:
    count = torch.bincount(owner, minlength=owners)[:, None].to(edge)
    return torch.cat([scatter(edge, owner, dim_size=owners, reduce="mean"), count.log1p()], 1)
