"""GraphEmbedder: text embeddings and structure to tokens of one width (spec GFlowNet 3.1)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import torch
from torch import nn
from torch_geometric.utils import scatter

from engine.gflownet.sampler.graph_batch import GraphBatch
from engine.gflownet.sampler.projector import EmbeddingProjector

STRUCTURE = 4


@dataclass(frozen=True)
class Tokens:
    """Tokens that all trajectories of a batch share, computed once per batch. H is the width."""

    edge: torch.Tensor  # [E, H], phi_e(e, q)
    node: torch.Tensor  # [N, H], phi_v(v, q)
    question: torch.Tensor  # [B, H], phi_q(q)
    start_summary: torch.Tensor  # [B, H], phi_start(S)


class GraphEmbedder(nn.Module):
    """Projects questions, entities and relations, and fuses them on the edges.

    `width` is the embeddings' D, `hidden` is H. With the retriever's `projector` texts go through it first, and a
    linear layer brings them to H; without, one linear layer does both. `features` are ours: with `structure` a node
    also has whether it is a start, whether it has text, and its degrees; with `scores` an edge has its retriever score.
    """

    def __init__(
        self,
        width: int,
        hidden: int,
        projector: EmbeddingProjector | None = None,
        features: Collection[str] = (),
    ) -> None:
        super().__init__()

        def tokens(shared: nn.Linear | None) -> nn.Module:
            if shared is None:
                return nn.Linear(width, hidden)
            return nn.Sequential(shared, nn.Linear(shared.out_features, hidden))

        self.question = tokens(projector and projector.question)
        self.entity = tokens(projector and projector.entity)
        self.relation = tokens(projector and projector.relation)
        self.structure = nn.Linear(STRUCTURE, hidden) if "structure" in features else None
        self.match = nn.Linear(hidden, hidden, bias=False)
        self.head = nn.Linear(hidden, hidden)
        self.tail = nn.Linear(hidden, hidden, bias=False)
        self.score = nn.Linear(1, hidden, bias=False) if "scores" in features else None
        self.edge_out = nn.Sequential(nn.LayerNorm(hidden), nn.GELU(), nn.Linear(hidden, hidden))

    def forward(self, batch: GraphBatch) -> Tokens:
        """Tokens of the whole batch."""
        question = self.question(batch.question_emb)
        node = self.entity(batch.node_emb)
        if self.structure is not None:
            node = node + self.structure(_structure(batch))
        return Tokens(self._edges(batch, node, question), node, question, _start_summary(batch, node))

    def _edges(self, batch: GraphBatch, node: torch.Tensor, question: torch.Tensor) -> torch.Tensor:
        # The product of relation and question lets one linear layer see whether they agree.
        relation = self.relation(batch.relation_emb)
        asked = relation[batch.edge_relation] * question[batch.edge_graph]
        fused = (
            self.head(node)[batch.heads]
            + self.tail(node)[batch.tails]
            + relation[batch.edge_relation]
            + self.match(asked)
        )
        if self.score is not None:
            fused = fused + self.score(batch.edge_scores.clamp(min=1e-4).log()[:, None])
        return self.edge_out(fused)


def _structure(batch: GraphBatch) -> torch.Tensor:
    degrees = torch.stack([batch.out_degree, batch.in_degree], 1).to(batch.node_emb).log1p()
    flags = torch.zeros_like(degrees)
    flags[batch.starts, 0] = 1
    flags[:, 1] = (batch.node_emb != 0).any(1)
    return torch.cat([degrees, flags], 1)


def _start_summary(batch: GraphBatch, node: torch.Tensor) -> torch.Tensor:
    owner = batch.node_graph[batch.starts]
    return scatter(node[batch.starts], owner, dim_size=batch.size, reduce="mean")
