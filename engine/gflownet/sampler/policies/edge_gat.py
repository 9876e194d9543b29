"""EdgeGAT: nodes hear of their surroundings before any edge is scored (spec GFlowNet 3.1)."""

from __future__ import annotations

import torch
from torch import nn
from torch_geometric.nn import MessagePassing
from torch_geometric.utils import softmax

from engine.gflownet.sampler.embedder import Tokens
from engine.gflownet.sampler.graph_batch import GraphBatch
from engine.gflownet.sampler.policies.edge_mlp_mixer import EdgeMLPMixerPolicy


class EdgeGATPolicy(EdgeMLPMixerPolicy):
    """`layers` rounds of attention against the edges (a node hears what can be reached from it), once a batch;
    then scored as EdgeMLPMixer does."""

    def __init__(self, hidden: int, max_steps: int, heads: int = 4, layers: int = 2) -> None:
        super().__init__(hidden, max_steps)
        self.look_ahead = layers
        self.layers = nn.ModuleList(_Attention(hidden, heads) for _ in range(layers))
        self.join = nn.Linear(2 * hidden, hidden)

    def prepare(self, batch: GraphBatch, tokens: Tokens) -> torch.Tensor:
        node = tokens.node
        for layer in self.layers:
            node = layer(batch, node, tokens.edge)
        return self.edge_half(tokens.edge) + self.join(torch.cat([node[batch.heads], node[batch.tails]], 1))


class _Attention(MessagePassing):
    """GATv2 with edge features (Brody et al. 2022): a node attends to the edges that leave it, and hears of each the
    edge's token and that of the node behind it."""

    # Not GATv2Conv: its messages leave the edge out; with edges as its sources, which is equal, it takes 1.2x the time.
    def __init__(self, hidden: int, heads: int) -> None:
        if hidden % heads:
            raise ValueError(f"policy.hidden {hidden} is not a multiple of policy.heads {heads}")
        super().__init__(aggr="add", flow="target_to_source")
        self.heads = heads
        self.node = nn.Linear(hidden, 2 * hidden)
        self.edge = nn.Linear(hidden, hidden, bias=False)
        self.attend = nn.Parameter(torch.randn(heads, hidden // heads) / hidden**0.5)
        self.norm = nn.LayerNorm(hidden)

    def forward(self, batch: GraphBatch, node: torch.Tensor, edge: torch.Tensor) -> torch.Tensor:
        here, reached = self.node(node).chunk(2, 1)
        ends = torch.stack([batch.heads, batch.tails])
        heard = self.propagate(ends, here=here, reached=reached, edge=self.edge(edge), out_ptr=batch.out_ptr)
        return self.norm(node + heard)

    def message(  # type: ignore[override]
        self, here_i: torch.Tensor, reached_j: torch.Tensor, edge: torch.Tensor, out_ptr: torch.Tensor
    ) -> torch.Tensor:
        message = reached_j + edge
        mixed = nn.functional.leaky_relu(here_i + message, 0.2)
        weight = (mixed.unflatten(1, (self.heads, -1)) * self.attend).sum(2)  # [E, heads]
        share = softmax(weight, ptr=out_ptr)
        return (message.unflatten(1, (self.heads, -1)) * share[:, :, None]).flatten(1)
