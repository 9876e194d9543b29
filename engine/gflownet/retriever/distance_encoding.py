"""Topic distance encoding: how a graph looks from the question's entities (Li et al. 2024, SubgraphRAG)."""

from __future__ import annotations

import torch
from torch_geometric.utils import scatter


def distance_encoding(topic: torch.Tensor, edge_index: torch.Tensor, rounds: int) -> torch.Tensor:
    """[N, 2 * (1 + 2 * rounds)]: `topic` [N, 2], its mean over incoming edges `rounds` times over, and over
    outgoing edges. A node's row says how far, and in which direction, question entities are."""
    encodings = [topic]
    for source, target in (edge_index, edge_index.flip(0)):
        carried = topic
        for _ in range(rounds):
            carried = scatter(carried[source], target, dim_size=topic.shape[0], reduce="mean")
            encodings.append(carried)
    return torch.cat(encodings, 1)
