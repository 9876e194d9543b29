"""Topic distance encoding: how a graph looks from the question's entities (Li et al. 2024, SubgraphRAG)."""

from __future__ import annotations

import torch


def distance_encoding(topic: torch.Tensor, edge_index: torch.Tensor, rounds: int) -> torch.Tensor:
    """[N, 2 * (1 + 2 * rounds)]: `topic` [N, 2], its mean over incoming edges `rounds` times over, and over
    outgoing edges. A node's row says how far, and in which direction, question entities are."""
    encodings = [topic]
    for source, target in (edge_index, edge_index.flip(0)):
        carried = topic
        count = torch.bincount(target, minlength=topic.shape[0]).clamp(min=1)[:, None]
        for _ in range(rounds):
            total = torch.zeros_like(carried).index_add(0, target, carried[source])
            carried = total / count
            encodings.append(carried)
    return torch.cat(encodings, 1)
