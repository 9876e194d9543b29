"""GFlowNetEstimator: log Z and the backward policy P_B (spec GFlowNet 3.2, 3.3)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from engine.config.gflownet import EstimatorSection
from engine.gflownet.sampler.embedder import Tokens
from engine.gflownet.sampler.environment import Walks
from engine.gflownet.sampler.graph_batch import GraphBatch
from engine.gflownet.sampler.segments import log_softmax


@dataclass(frozen=True)
class Backward:
    """log P_B [J] of trajectories; the backward head's own losses by the spec's names (empty where it does not learn);
    the mean entropy of P_B at the nodes that the walks reach."""

    log_pb: torch.Tensor
    terms: dict[str, torch.Tensor]
    avg_entropy: torch.Tensor


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
            return Backward(total, {}, none)
        log_share, entropy = self._learned(batch, tokens, edge)
        log_pb = total.index_add(0, row, log_share)
        terms = self._losses(log_pb, walked.any(1), entropy) if self.learns else {}
        return Backward(log_pb, terms, entropy.detach())

    def _learned(
        self, batch: GraphBatch, tokens: Tokens, edge: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """log P_B of each walked edge; the mean entropy of the nodes they reach."""
        targets = batch.tails[edge].unique()
        number = torch.full_like(batch.node_graph, -1)
        number[targets] = torch.arange(targets.shape[0], device=targets.device)
        parent = torch.nonzero(number[batch.tails] >= 0)[:, 0]
        target = batch.tails[parent]
        question = tokens.question[batch.edge_graph[parent]]
        context = torch.cat([tokens.edge[parent], question, tokens.node[target]], 1)
        log_p = log_softmax(self.backward_head(context)[:, 0], number[target], targets.shape[0])
        entropy = -torch.nan_to_num(log_p.exp() * log_p).sum() / max(1, targets.shape[0])
        of_edge = log_p.new_zeros(batch.tails.shape).index_put((parent,), log_p)
        return of_edge[edge], entropy

    def _losses(
        self, log_pb: torch.Tensor, has_edge: torch.Tensor, entropy: torch.Tensor
    ) -> dict[str, torch.Tensor]:
        squares = sum((parameter**2).sum() for parameter in self.backward_head.parameters())
        terms = {"pb_l2": self.section.pb_l2_reg * torch.as_tensor(squares)}
        if bool(has_edge.any()):
            terms["pb_nll"] = -log_pb[has_edge].mean()
            terms["pb_entropy"] = -self.section.pb_entropy_coef * entropy
        return terms
