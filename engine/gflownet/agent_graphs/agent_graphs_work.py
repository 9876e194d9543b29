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
class Batch:
    """Graphs of one split, and the scores [E] of each one's edges. `keep_gt` adds the ground-truth paths."""

    split: str
    records: Sequence[RetrievalRecord]
    scores: Sequence[torch.Tensor]
    keep_gt: bool


@dataclass(frozen=True)
class AgentBuilding:
    """Turns a batch into a sample, or the reason for none, for each graph."""

    section: AgentGraphsSection

    def open(self, context: WorkContext) -> Callable[[Batch], list[GAgentSample | Dropped]]:
        builder = GAgentBuilder(self.section)

        def build(batch: Batch) -> list[GAgentSample | Dropped]:
            found: list[GAgentSample | Dropped] = []
            with torch_threads(1):
                for record, scores in zip(batch.records, batch.scores, strict=True):
                    context.checkpoint()
                    found.append(builder.build(graph_of(record), scores, batch.keep_gt))
            return found

        return build

    def size(self, item: Batch) -> int:
        return len(item.records)
