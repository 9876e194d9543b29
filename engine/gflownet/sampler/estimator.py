"""GFlowNetEstimator: log Z and the backward policy P_B (spec GFlowNet 3.2, 3.3)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from engine.config.gflownet import EstimatorSection
from engine.gflownet.sampler.embedder import Tokens
from engine.gflownet.sampler.environment import Walks
from engine.gflownet.sampler.graph_batch import GraphBatch
from engine.gflownet.sampler.segments import expand, log_softmax


@dataclass(frozen=True)
class Backward:
    """log P_B [J] of trajectories, and the backward head's own losses by the spec's names (empty where it does not
    learn): means, as `sums` over `counts`. `entropy` is summed over the `targets` that the walks reach."""

    log_pb: torch.Tensor
    sums: dict[str, torch.Tensor]
    counts: dict[str, int]
    entropy: torch.Tensor
    targets: int


class GFlowNetEstimator(nn.Module):
    """`log_pb_mode`:

    - exact: 1. The states form a tree under `forbid_revisit`, so each has one parent, and P_F(x) follows R(x).
    - uniform: 1 / in-degree of the node reached. The edges that reach a node are not the parents of a state of
      the tree, so their shares do not sum to 1 over one: what is learned is R(x) * prod 1 / d_in, not R(x).
    - learned: a softmax over the edges that reach the node, uniform at first (zero last layer).
    """

    def __init__(self, hidden: int, section: EstimatorSection) -> None:
        super().__init__()
        self.section = section
        self.context = nn.Sequential(nn.Linear(2 * hidden, hidden), nn.GELU(), nn.Linear(hidden, hidden))
        self.log_z_head = nn.Sequential(nn.GELU(), nn.Linear(hidden, 1))
        last = nn.Linear(hidden, 1)
        nn.init.zeros_(last.weight)
        nn.init.zeros_(last.bias)
        self.backward_head = nn.Sequential(nn.Linear(3 * hidden, hidden), nn.GELU(), last)
        self.learns = section.log_pb_mode == "learned" and section.learn_pb
        self.backward_head.requires_grad_(self.learns)

    def build_context(self, start_summary: torch.Tensor, question_tokens: torch.Tensor) -> torch.Tensor:
        """The context [B, H] of log Z, from two tensors [B, H]."""
        return self.context(torch.cat([start_summary, question_tokens], 1))

    def log_z(self, context: torch.Tensor) -> torch.Tensor:
        """log Z [B] from a context."""
        return self.log_z_head(context)[:, 0]

    def backward_policy(self, batch: GraphBatch, tokens: Tokens, walks: Walks) -> Backward:
        """log P_B of `walks`. Looks only at edges that reach a walked node."""
        walked = walks.edges >= 0
        row, _ = torch.nonzero(walked, as_tuple=True)
        edge = walks.edges[walked]
        none = tokens.question.new_zeros(())
        total = tokens.question.new_zeros(walks.graph.shape[0])
        mode = self.section.log_pb_mode
        if mode == "uniform":
            log_in_degree = batch.in_degree[batch.tails[edge]].to(total).log()
            total = total.index_add(0, row, -log_in_degree)
        if mode != "learned":
            return Backward(total, {}, {}, none, 0)
        log_share, entropy, targets = self._learned(batch, tokens, edge)
        log_pb = total.index_add(0, row, log_share)
        sums, counts = self._losses(log_pb, walked.any(1), entropy, targets) if self.learns else ({}, {})
        return Backward(log_pb, sums, counts, entropy.detach(), targets)

    def _learned(
        self, batch: GraphBatch, tokens: Tokens, edge: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, int]:
        """log P_B of each walked edge; the entropies of the nodes they reach, summed; how many nodes those are."""
        targets, target = torch.unique(batch.tails[edge], return_inverse=True)
        owner, place = expand(batch.in_ptr, targets)
        parent = batch.in_edges[place]
        question = tokens.question[batch.edge_graph[parent]]
        context = torch.cat([tokens.edge[parent], question, tokens.node[targets[owner]]], 1)
        log_p = log_softmax(self.backward_head(context)[:, 0], owner, targets.shape[0])
        degree = batch.in_ptr[targets + 1] - batch.in_ptr[targets]
        first = degree.cumsum(0) - degree
        entropy = -torch.nan_to_num(log_p.exp() * log_p).sum()
        return log_p[first[target] + batch.in_position[edge]], entropy, targets.shape[0]

    def _losses(
        self, log_pb: torch.Tensor, has_edge: torch.Tensor, entropy: torch.Tensor, targets: int
    ) -> tuple[dict[str, torch.Tensor], dict[str, int]]:
        squares = sum((parameter**2).sum() for parameter in self.backward_head.parameters())
        sums = {
            "pb_nll": -log_pb[has_edge].sum(),
            "pb_entropy": -self.section.pb_entropy_coef * entropy,
            "pb_l2": self.section.pb_l2_reg * torch.as_tensor(squares),
        }
        return sums, {"pb_nll": int(has_edge.sum()), "pb_entropy": targets, "pb_l2": 1}
