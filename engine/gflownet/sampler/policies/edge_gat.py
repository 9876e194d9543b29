"""EdgeGAT: nodes hear of their surroundings before any edge is scored (spec GFlowNet 3.1)."""

from __future__ import annotations

import torch
from torch import nn

from engine.gflownet.sampler.embedder import Tokens
from engine.gflownet.sampler.graph_batch import GraphBatch
from engine.gflownet.sampler.policies.edge_mlp_mixer import EdgeMLPMixerPolicy
from engine.gflownet.sampler.segments import log_softmax


class EdgeGATPolicy(EdgeMLPMixerPolicy):
    """`layers` rounds of attention against the edges (a node hears what can be reached from it), once a batch;
    then scored as EdgeMLPMixer does."""

    def __init__(
        self, hidden: int, max_steps: int, dropout: float = 0.0, heads: int = 4, layers: int = 2
    ) -> None:
        super().__init__(hidden, max_steps, dropout)
        self.look_ahead = layers
        self.layers = nn.ModuleList(_Attention(hidden, heads) for _ in range(layers))
        self.join = nn.Linear(2 * hidden, hidden)

    def prepare(self, batch: GraphBatch, tokens: Tokens) -> torch.Tensor:
        node = tokens.node
        for layer in self.layers:
            node = layer(batch, node, tokens.edge)
        return self.edge_half(tokens.edge) + self.join(torch.cat([node[batch.heads], node[batch.tails]], 1))


class _Attention(nn.Module):
    """GATv2 with edge features (Brody et al. 2022), a node attending to the edges that leave it."""

    def __init__(self, hidden: int, heads: int) -> None:
        super().__init__()
        if hidden % heads:
            raise ValueError(f"policy.hidden {hidden} is no multiple of policy.heads {heads}")
        self.heads = heads
        self.node = nn.Linear(hidden, 2 * hidden)
        self.edge = nn.Linear(hidden, hidden, bias=False)
        self.attend = nn.Parameter(torch.randn(heads, hidden // heads) / hidden**0.5)
        self.norm = nn.LayerNorm(hidden)

    def forward(self, batch: GraphBatch, node: torch.Tensor, edge: torch.Tensor) -> torch.Tensor:
        own, reached = self.node(node).chunk(2, 1)
        message = reached[batch.tails] + self.edge(edge)
        mixed = nn.functional.leaky_relu(own[batch.heads] + message, 0.2)
        weight = (mixed.unflatten(1, (self.heads, -1)) * self.attend).sum(2)  # [E, heads]
        nodes = node.shape[0]
        shares = [log_softmax(weight[:, head], batch.heads, nodes).exp() for head in range(self.heads)]
        heard = message.unflatten(1, (self.heads, -1)) * torch.stack(shares, 1)[:, :, None]
        return self.norm(node + node.new_zeros(node.shape).index_add(0, batch.heads, heard.flatten(1)))
