"""A policy with a number of its own for every action in every state: what a network can at best become."""

from __future__ import annotations

import torch
from torch import nn

from engine.gflownet.sampler.embedder import Tokens
from engine.gflownet.sampler.environment import Frontier, Walks
from engine.gflownet.sampler.graph_batch import GraphBatch


class TabularPolicy(nn.Module):
    """States are walks so far, numbered as `walks` lists them (every trajectory is the state it stopped in)."""

    look_ahead = 0

    def __init__(self, batch: GraphBatch, walks: Walks) -> None:
        super().__init__()
        number = {
            self._name(graph, edges): n
            for n, (graph, edges) in enumerate(zip(walks.graph, walks.edges, strict=True))
        }
        states, actions = len(number), batch.heads.shape[0]
        self.after = torch.full((states, actions), -1)
        for (graph, path), state in number.items():
            if path:
                self.after[number[graph, path[:-1]], path[-1]] = state
        self.root = torch.tensor([number[graph, ()] for graph in range(batch.size)])
        self.edge = nn.Parameter(torch.zeros(states, actions, dtype=torch.float64))
        self.stop = nn.Parameter(torch.zeros(states, dtype=torch.float64))

    @staticmethod
    def _name(graph: torch.Tensor, edges: torch.Tensor) -> tuple[int, tuple[int, ...]]:
        return int(graph), tuple(int(edge) for edge in edges if edge >= 0)

    def prepare(self, batch: GraphBatch, tokens: Tokens) -> torch.Tensor:
        return batch.heads

    def begin(self, tokens: Tokens, graph: torch.Tensor) -> torch.Tensor:
        return self.root[graph]

    def logits(
        self, keys: torch.Tensor, memory: torch.Tensor, frontier: Frontier, step: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        return self.edge[memory[frontier.owner], frontier.edge], self.stop[memory]

    def advance(self, keys: torch.Tensor, memory: torch.Tensor, edge: torch.Tensor) -> torch.Tensor:
        return self.after[memory, edge]
