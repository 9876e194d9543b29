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
    split, so that what several edges share is computed once a batch. `width` is the embeddings' D, `hidden` the
    projector's and the MLP's width."""

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
        entities, entity_of = torch.unique(batch.node_embedding_ids, return_inverse=True)
        node = torch.cat([self.projector.entity(tables.entities(entities))[entity_of], encoding], 1)
        head, tail = batch.edge_index
        relations, relation_of = torch.unique(batch.edge_attr, return_inverse=True)
        # Pairs of a question and a relation: few beside the edges.
        pairs, pair_of = torch.unique(batch.batch[head] * len(relations) + relation_of, return_inverse=True)
        question = self.projector.question(batch.question_emb)[pairs // len(relations)]
        relation = self.projector.relation(tables.relations(relations))[pairs % len(relations)]
        matched = question + relation + self.match(question * relation)
        return self.score(matched[pair_of] + self.head(node)[head] + self.tail(node)[tail])[:, 0]


def recall_at_k(scores: torch.Tensor, labels: torch.Tensor, k: int) -> float | None:
    """Share of one graph's positive edges among its `k` best-scored; None without positives."""
    positives = int(labels.sum())
    if positives == 0:
        return None
    best = torch.argsort(scores, descending=True, stable=True)[:k]
    return float(labels[best].sum()) / positives
