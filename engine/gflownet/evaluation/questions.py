"""A split's questions as batches of their walkable subgraphs, which are cached."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from engine.errors import DataError
from engine.gflownet import layout
from engine.gflownet.agent_graphs.dataset import GAgentPyGDataset
from engine.gflownet.graphs.tables import EmbeddingTables
from engine.gflownet.sampler.environment import enumerate_walks
from engine.gflownet.sampler.graph_batch import GraphBatch, concatenate, from_pyg
from engine.gflownet.sampler.module import GFlowNetModule
from engine.gflownet.sampler.walkable import walkable

KEPT = 4096
"""Questions whose subgraphs stay in memory: some 100 KB each."""
MOST_PATHS = 5_000
"""Of a question whose paths are listed to draw from: they stay in memory, some 100 KB each."""


@dataclass(frozen=True)
class ListedPaths:
    """All paths of a question: `edges` [n, T] (int32) count in its own subgraph; `cumulative` [n] adds up R / sum R."""

    edges: torch.Tensor
    cumulative: NDArray[np.float64]

    def drawn(self, uniform: NDArray[np.float64]) -> torch.Tensor:
        """A path for each of `uniform` (0 to 1), in proportion to R."""
        place = np.searchsorted(self.cumulative, uniform, side="right").clip(max=len(self.cumulative) - 1)
        return self.edges[torch.from_numpy(place)].long()


class QuestionBatches:
    """`data` in the form that `module` reads, with the embeddings of `tables`."""

    def __init__(self, data: GAgentPyGDataset, tables: EmbeddingTables, module: GFlowNetModule) -> None:
        self.data = data
        self.tables = tables
        self._steps = module.env.max_steps
        self._look_ahead = module.policy.look_ahead
        self._backward = module.section.estimator.log_pb_mode == "learned"
        self._module = module
        self._subgraph = lru_cache(maxsize=KEPT)(self._cut_out)
        self.listed = lru_cache(maxsize=KEPT)(self._listed)

    def __len__(self) -> int:
        return len(self.data)

    def batch(self, numbers: Sequence[int]) -> tuple[GraphBatch, list[str]]:
        """The walkable subgraphs of the questions `numbers` in a batch, and their sample ids."""
        graphs, names = zip(*map(self._subgraph, numbers), strict=True)
        return concatenate(graphs), list(names)

    def whole(self, number: int) -> tuple[GraphBatch, Any]:
        """One question's whole graph: nodes are numbered as in its data, the PyG `Data` that comes with it."""
        data = self.data[number]
        return from_pyg([data], self.tables), data

    def _listed(self, number: int) -> ListedPaths | None:
        """All paths of one question, None where they are more than MOST_PATHS."""
        batch, _ = self._subgraph(number)
        try:
            walks = enumerate_walks(self._module.env, batch, 0, MOST_PATHS)
        except ValueError:
            return None
        worth = self._module.reward(batch, walks, batch.question_emb.double()).reward
        return ListedPaths(walks.edges.int(), (worth / worth.sum()).cumsum(0).numpy())

    def _cut_out(self, number: int) -> tuple[GraphBatch, str]:
        batch, data = self.whole(number)
        return walkable(batch, self._steps, self._look_ahead, self._backward), data.sample_id


def load_questions(
    run_dir: Path, split: str, tables: EmbeddingTables, module: GFlowNetModule
) -> QuestionBatches:
    """A split's questions. Raises DataError where there are none."""
    path = layout.agent_graphs(run_dir, split)
    questions = QuestionBatches(GAgentPyGDataset(path), tables, module)
    if not len(questions):
        raise DataError(
            what=f"no {split} question has an answer its agent graph reaches",
            where=str(path),
            hint="see dropped.json; a larger agent_graphs.anchor_top_k keeps more",
        )
    return questions
