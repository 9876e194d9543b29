"""The work of stage `agent-graphs`: a batch of scored retrieval graphs to agent graphs (spec GFlowNet 0.3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from engine.config.gflownet import AgentGraphsSection
from engine.gflownet.agent_graphs.builder import Dropped, GAgentBuilder
from engine.gflownet.agent_graphs.samples import GAgentSample
from engine.gflownet.graphs.dataset import graph_of
from engine.gflownet.graphs.store import RetrievalRecord
from engine.scale.work import WorkContext
from engine.torch_file import torch_threads


@dataclass(frozen=True)
class ScoredGraphs:
    """Graphs, and the scores [E] of each graph's edges. `keep_gt` adds the ground-truth paths."""

    records: Sequence[RetrievalRecord]
    scores: Sequence[torch.Tensor]
    keep_gt: bool


@dataclass(frozen=True)
class AgentBuilding:
    """Builds a sample, or the reason for none, from each graph of a batch."""

    section: AgentGraphsSection

    def open(self, context: WorkContext) -> Callable[[ScoredGraphs], list[GAgentSample | Dropped]]:
        builder = GAgentBuilder(self.section)

        def build(batch: ScoredGraphs) -> list[GAgentSample | Dropped]:
            results: list[GAgentSample | Dropped] = []
            with torch_threads(1):
                for record, scores in zip(batch.records, batch.scores, strict=True):
                    context.checkpoint()
                    results.append(builder.build(graph_of(record), scores, batch.keep_gt))
            return results

        return build
