"""The edge scorer: how likely an edge lies on a path to an answer (spec GFlowNet 0.2)."""

from __future__ import annotations

import torch
from torch import nn

from engine.gflownet.graphs.tables import EmbeddingTables
from engine.gflownet.retriever.distance_encoding import distance_encoding
from engine.gflownet.sampler.projector import EmbeddingProjector

NUM_TOPICS = 2


class Retriever(nn.Module):
    """An MLP over projected question, head, relation, tail and the distance encodings of both ends. Its first layer is
    split, so that questions, entities and relations are projected once a batch and not once an edge. `width` is the
    embeddings' D, `hidden` the projector's and the MLP's width."""

    def __init__(self, width: int, hidden: int, rounds: int) -> None:
        super().__init__()
        self.rounds = rounds
        encoding = NUM_TOPICS * (1 + 2 * rounds)
        self.projector = EmbeddingProjector(width, hidden)
        self.head = nn.Linear(hidden + encoding, hidden, bias=False)
        self.tail = nn.Linear(hidden + encoding, hidden, bias=False)
        self.match = nn.Linear(hidden, hidden, bias=False)
        self.score = nn.Sequential(nn.GELU(), nn.Linear(hidden, hidden), nn.GELU(), nn.Linear(hidden, 1))

    def forward(self, batch, tables: EmbeddingTables) -> torch.Tensor:  # type: ignore[no-untyped-def]
        """Logits [E] of a PyG batch of retrieval graphs."""
        encoding = distance_encoding(batch.topic_one_hot, batch.edge_index, self.rounds)
        node = torch.cat([self.projector.entity(tables.entities(batch.node_embedding_ids)), encoding], 1)
        relations, place = torch.unique(batch.edge_attr, return_inverse=True)
        relation = self.projector.relation(tables.relations(relations))[place]
        head, tail = batch.edge_index
        question = self.projector.question(batch.question_emb)[batch.batch[head]]
        mixed = (
            question
            + relation
            + self.match(question * relation)
            + self.head(node)[head]
            + self.tail(node)[tail]
        )
        return self.score(mixed)[:, 0]


def recall_at_k(scores: torch.Tensor, labels: torch.Tensor, k: int) -> float | None:
    """Share of one graph's positive edges among its `k` best-scored; None without positives."""
    positives = int(labels.sum())
    if positives == 0:
        return None
    best = torch.argsort(scores, descending=True, stable=True)[:k]
    return float(labels[best].sum()) / positives
