"""The retriever's scores as a policy: the baseline that the sampler has to beat."""

from __future__ import annotations

import torch

from engine.gflownet.sampler.embedder import Tokens
from engine.gflownet.sampler.environment import Frontier
from engine.gflownet.sampler.graph_batch import GraphBatch


class RetrieverPriorPolicy:
    """An edge is taken in proportion to its score (with `Sampling(prior_alpha=1)`), STOP like an edge with the
    score `stop_score`."""

    look_ahead = 0

    def __init__(self, stop_score: float) -> None:
        self.stop_score = stop_score

    def prepare(self, batch: GraphBatch, tokens: Tokens) -> torch.Tensor:
        return batch.edge_scores

    def begin(self, tokens: Tokens, graph: torch.Tensor) -> torch.Tensor:
        return graph

    def logits(
        self, keys: torch.Tensor, memory: torch.Tensor, frontier: Frontier, step: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        stop = torch.full(memory.shape, self.stop_score, dtype=keys.dtype, device=keys.device)
        return keys.new_zeros(frontier.edge.shape), stop.log()

    def advance(self, keys: torch.Tensor, memory: torch.Tensor, edge: torch.Tensor) -> torch.Tensor:
        return memory
