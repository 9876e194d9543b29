"""Paths of training questions that are known to be good, to learn from besides the sampler's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from engine.gflownet.sampler.graph_batch import GraphBatch, pointers


@dataclass(frozen=True)
class Replay:
    """Paths of a batch: `edges` [R, P] are filled up with -1. `likelihood` [R]: learned by -log P_F, which keeps
    P_F = R / sum R the optimum where paths are drawn in proportion to R; otherwise by trajectory balance."""

    graph: torch.Tensor  # [R]
    edges: torch.Tensor  # [R, P]
    likelihood: torch.Tensor  # [R] bool

    def to(self, device: torch.device | str) -> Replay:
        """The same on `device`."""
        return Replay(self.graph.to(device), self.edges.to(device), self.likelihood.to(device))

    @classmethod
    def join(cls, replays: Sequence[Replay]) -> Replay:
        """Several, one behind the other."""
        width = max(replay.edges.shape[1] for replay in replays)
        edges = [
            torch.nn.functional.pad(each.edges, (0, width - each.edges.shape[1]), value=-1)
            for each in replays
        ]
        return cls(
            torch.cat([replay.graph for replay in replays]),
            torch.cat(edges),
            torch.cat([replay.likelihood for replay in replays]),
        )


def shortest_paths(batch: GraphBatch, questions: Sequence[int], likelihood: bool) -> Replay:
    """The ground-truth path of each of `questions` that has one."""
    graph = torch.tensor(questions, dtype=torch.long)
    graph = graph[batch.gt_paths[graph, 0] >= 0]
    return Replay(graph, batch.gt_paths[graph], torch.full(graph.shape, likelihood))


def drawn_paths(batch: GraphBatch, question: int, paths: torch.Tensor) -> Replay:
    """`paths` [R, P] of one question, whose edges count in the question's own graph."""
    first = pointers(batch.edge_graph, batch.size)[question]
    edges = torch.where(paths < 0, paths, paths + first)
    graph = torch.full(paths.shape[:1], question)
    return Replay(graph, edges, torch.ones_like(graph, dtype=torch.bool))
