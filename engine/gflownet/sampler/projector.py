"""The projector of text embeddings, which retriever and sampler share (spec GFlowNet 3.1, 7.2)."""

from __future__ import annotations

from torch import nn


class EmbeddingProjector(nn.Module):
    """Text embeddings [any, `width`] of questions, entities and relations to [any, `projected`]: three linear maps."""

    def __init__(self, width: int, projected: int) -> None:
        super().__init__()
        self.question = nn.Linear(width, projected)
        self.entity = nn.Linear(width, projected)
        self.relation = nn.Linear(width, projected)
