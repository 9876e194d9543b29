"""The policies' protocol, and their common base: a recurrent memory of the walk."""

from __future__ import annotations

from abc import abstractmethod
from typing import Protocol

import torch
from torch import nn

from engine.gflownet.sampler.embedder import Tokens
from engine.gflownet.sampler.environment import Frontier
from engine.gflownet.sampler.graph_batch import GraphBatch


class Policy(Protocol):
    """Scores the frontier. `memory` [L, M] is a trajectory's own; `keys` are the batch's, whatever they are.
    `look_ahead`: how many edges beyond a walk its logits depend on."""

    look_ahead: int

    @abstractmethod
    def prepare(self, batch: GraphBatch, tokens: Tokens) -> torch.Tensor:
        """Keys [E, H] of the edges, computed once per batch."""
        ...

    @abstractmethod
    def begin(self, tokens: Tokens, graph: torch.Tensor) -> torch.Tensor:
        """Memory [J, M] before the first action."""
        ...

    @abstractmethod
    def logits(
        self, keys: torch.Tensor, memory: torch.Tensor, frontier: Frontier, step: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits of the frontier's edges [F] and of STOP [L], before prior and temperature."""
        ...

    @abstractmethod
    def advance(self, keys: torch.Tensor, memory: torch.Tensor, edge: torch.Tensor) -> torch.Tensor:
        """Memory after walking `edge`."""
        ...


class RecurrentPolicy(nn.Module, Policy):
    """A GRU remembers the walk: which edges may follow, and what it is worth, depends on all of it.

    Subclasses define the key of an edge (`prepare`) and how it is scored (`logits`). `hidden` is H,
    `max_steps` is T_max.
    """

    look_ahead = 0

    def __init__(self, hidden: int, max_steps: int) -> None:
        super().__init__()
        self.first = nn.Linear(2 * hidden, hidden)
        self.walk = nn.GRUCell(hidden, hidden)
        self.steps = nn.Embedding(max_steps + 1, hidden)

    def begin(self, tokens: Tokens, graph: torch.Tensor) -> torch.Tensor:
        context = torch.cat([tokens.start_summary, tokens.question], 1)
        return torch.tanh(self.first(context))[graph]

    def advance(self, keys: torch.Tensor, memory: torch.Tensor, edge: torch.Tensor) -> torch.Tensor:
        return self.walk(keys[edge], memory)
