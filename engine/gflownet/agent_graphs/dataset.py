"""GAgentPyGDataset: agent graphs as PyG `Data` whose fields batch flat (spec GFlowNet 0.3, 8)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch_geometric.data import Data

from engine.gflownet.agent_graphs.samples import GAgentSample
from engine.gflownet.agent_graphs.store import load_samples

_BY_NODE = ("start_node_locals", "answer_node_locals", "gt_path_node_local_ids")
_BY_EDGE = ("gt_path_edge_local_ids",)


class AgentData(Data):
    """Local node and edge numbers count on through a batch; everything else is joined as it is."""

    def __inc__(self, key: str, value: Any, *args: Any, **kwargs: Any) -> Any:
        if key in _BY_NODE:
            return self.num_nodes
        if key in _BY_EDGE:
            return self.num_edges
        return super().__inc__(key, value, *args, **kwargs) if key == "edge_index" else 0

    def __cat_dim__(self, key: str, value: Any, *args: Any, **kwargs: Any) -> Any:
        return 1 if key == "edge_index" else 0


class GAgentPyGDataset:
    """The samples of a packed file, by number."""

    def __init__(self, path: Path) -> None:
        self._samples = load_samples(path)

    def __len__(self) -> int:
        return len(self._samples)

    def __getitem__(self, number: int) -> AgentData:
        return to_data(self._samples[number])


def to_data(sample: GAgentSample) -> AgentData:
    """A sample in PyG's names: edge_index, edge_attr (relations), num_nodes, node_global_ids, and gold_count in place
    of the gold answers' numbers; the rest keeps its own names."""
    values = dict(vars(sample))
    edges = torch.stack([values.pop("edge_head_locals"), values.pop("edge_tail_locals")])
    return AgentData(
        edge_index=edges,
        edge_attr=values.pop("edge_relations"),
        num_nodes=sample.node_entity_ids.shape[0],
        node_global_ids=values.pop("node_entity_ids"),
        question_emb=values.pop("question_emb")[None],
        gold_count=torch.tensor([values.pop("gold_entity_ids").shape[0]]),
        **values,
    )
