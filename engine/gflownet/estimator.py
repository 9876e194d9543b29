"""GFlowNetEstimator: log Z and the backward policy P_B (spec GFlowNet 3.2, 3.3)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from engine.gflownet.embedder import Tokens
from engine.gflownet.environment import Walks
from engine.gflownet.graph_batch import GraphBatch
from engine.gflownet.segments import expand, log_softmax
from engine.gflownet.settings import EstimatorSection


@dataclass(frozen=True)
class Backward:
    """log P_B [J] of trajectories, and the backward head's own losses by the spec's names (empty where it does
    not learn)."""

    log_pb: torch.Tensor
    losses: dict[str, torch.Tensor]
    pb_avg_entropy: torch.Tensor


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
        """[B, H] from two of [B, H]."""
        return self.context(torch.cat([start_summary, question_tokens], 1))

    def log_z(self, context: torch.Tensor) -> torch.Tensor:
        """[B]."""
        return self.log_z_head(context)[:, 0]

    def backward_policy(self, batch: GraphBatch, tokens: Tokens, walks: Walks) -> Backward:
        """log P_B of `walks`. Looks only at edges that reach a walked node."""
        walked = walks.edges >= 0
        row, _ = torch.nonzero(walked, as_tuple=True)
        edge = walks.edges[walked]
        zero = tokens.question.new_zeros(())
        total = tokens.question.new_zeros(walks.graph.shape[0])
        mode = self.section.log_pb_mode
        if mode == "exact" or not edge.numel():
            return Backward(total, {}, zero)
        if mode == "uniform":
            log_in_degree = batch.in_degree[batch.tails[edge]].to(total).log()
            return Backward(total.index_add(0, row, -log_in_degree), {}, zero)
        log_share, entropy = self._learned(batch, tokens, edge)
        log_pb = total.index_add(0, row, log_share)
        losses = self._losses(log_pb, walked.any(1), entropy) if self.learns else {}
        return Backward(log_pb, losses, entropy.detach())

    def _learned(
        self, batch: GraphBatch, tokens: Tokens, edge: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """log P_B of each walked edge, and the mean entropy over the nodes they reach."""
        targets, target = torch.unique(batch.tails[edge], return_inverse=True)
        owner, place = expand(batch.in_ptr, targets)
        parent = batch.in_edges[place]
        question = tokens.question[batch.edge_graph[parent]]
        context = torch.cat([tokens.edge[parent], question, tokens.node[targets[owner]]], 1)
        log_p = log_softmax(self.backward_head(context)[:, 0], owner, targets.shape[0])
        degree = batch.in_ptr[targets + 1] - batch.in_ptr[targets]
        first = degree.cumsum(0) - degree
        entropy = -torch.nan_to_num(log_p.exp() * log_p).sum() / targets.shape[0]
        return log_p[first[target] + batch.in_position[edge]], entropy

    def _losses(
        self, log_pb: torch.Tensor, has_edge: torch.Tensor, entropy: torch.Tensor
    ) -> dict[str, torch.Tensor]:
        squares = sum((parameter**2).sum() for parameter in self.backward_head.parameters())
        return {
            "pb_nll": -log_pb[has_edge].mean(),
            "pb_entropy": -self.section.pb_entropy_coef * entropy,
            "pb_l2": self.section.pb_l2_reg * torch.as_tensor(squares),
        }
