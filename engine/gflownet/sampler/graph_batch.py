"""Several questions' agent graphs as one flat graph, laid out so that a step reads only what it walks over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import accumulate
from typing import Any

import torch
from torch_geometric.data import Batch, Data

from engine.gflownet.graphs.tables import EmbeddingTables


@dataclass(frozen=True)
class GraphBatch:
    """B graphs, N nodes, E directed edges, S starts, R distinct relations, D the embedding width.

    Edges are sorted by head, so the edges that leave node n are `out_ptr[n]:out_ptr[n + 1]` (CSR). Nodes and edges of
    a graph lie together. `edge_local` is an edge's number in its own graph as stored.
    """

    question_emb: torch.Tensor  # [B, D]
    node_emb: torch.Tensor  # [N, D]
    relation_emb: torch.Tensor  # [R, D]
    node_graph: torch.Tensor  # [N]
    heads: torch.Tensor  # [E]
    tails: torch.Tensor  # [E]
    edge_relation: torch.Tensor  # [E], rows of relation_emb
    edge_graph: torch.Tensor  # [E]
    edge_local: torch.Tensor  # [E]
    edge_scores: torch.Tensor  # [E], probabilities
    out_ptr: torch.Tensor  # [N + 1]
    out_degree: torch.Tensor  # [N], in the whole graph, whatever part of it is here
    in_degree: torch.Tensor  # [N], the same: self-loops and parallel edges included
    starts: torch.Tensor  # [S], sorted, each once
    start_ptr: torch.Tensor  # [B + 1]
    is_answer: torch.Tensor  # [N] bool
    answer_count: torch.Tensor  # [B], in the whole graph
    gold_count: torch.Tensor  # [B], in the graph or not
    is_gt_edge: torch.Tensor  # [E] bool, on some shortest path from a start to an answer
    gt_edge_count: torch.Tensor  # [B], of the whole graph
    gt_paths: torch.Tensor  # [B, P], -1 behind the end; a row of -1: none; E: an edge that is not here

    @property
    def size(self) -> int:
        """B."""
        return self.question_emb.shape[0]

    def to(self, device: torch.device | str, dtype: torch.dtype | None = None) -> GraphBatch:
        """The same on `device`; floating tensors in `dtype`."""
        moved = {field.name: _move(getattr(self, field.name), device, dtype) for field in fields(self)}
        return replace(self, **moved)


def flat_batch(
    graphs: Any, node_emb: torch.Tensor, relation_emb: torch.Tensor, edge_relation: torch.Tensor
) -> GraphBatch:
    """Lay out `graphs`, agent graphs in one PyG batch: all node and edge numbers count through it, edges in stored
    order, the paths one behind the other. `edge_relation` [E]: rows of `relation_emb`."""
    node_graph, edge_index = graphs.batch, graphs.edge_index
    size, nodes, device = graphs.question_emb.shape[0], node_graph.shape[0], node_graph.device
    order = torch.argsort(edge_index[0], stable=True)
    heads, tails = edge_index[0][order], edge_index[1][order]
    edge_graph = node_graph[heads]
    stored_graph = node_graph[edge_index[0]]
    first_edge = pointers(stored_graph, size)
    local = torch.arange(order.shape[0], device=device) - first_edge[stored_graph]
    starts = graphs.start_node_locals.unique()
    answers = graphs.answer_node_locals.unique()
    is_answer = torch.zeros(nodes, dtype=torch.bool, device=device)
    is_answer[answers] = True
    place = torch.empty_like(order)
    place[order] = torch.arange(order.shape[0], device=device)
    gt = place[graphs.gt_path_edge_local_ids]
    is_gt = graphs.edge_labels[order] > 0.5
    return GraphBatch(
        question_emb=graphs.question_emb,
        node_emb=node_emb,
        relation_emb=relation_emb,
        node_graph=node_graph,
        heads=heads,
        tails=tails,
        edge_relation=edge_relation[order],
        edge_graph=edge_graph,
        edge_local=local[order],
        edge_scores=graphs.edge_scores[order],
        out_ptr=pointers(heads, nodes),
        out_degree=torch.bincount(heads, minlength=nodes),
        in_degree=torch.bincount(tails, minlength=nodes),
        starts=starts,
        start_ptr=pointers(node_graph[starts], size),
        is_answer=is_answer,
        answer_count=torch.bincount(node_graph[answers], minlength=size),
        gold_count=graphs.gold_count,
        is_gt_edge=is_gt,
        gt_edge_count=torch.bincount(edge_graph[is_gt], minlength=size),
        gt_paths=_rows(gt, edge_graph[gt], size),
    )


_COUNTED_IN = {
    "heads": "nodes", "tails": "nodes", "starts": "nodes", "node_graph": "graphs", "edge_graph": "graphs",
    "edge_relation": "relations",
}  # fmt: skip
_POINTERS = ("out_ptr", "start_ptr")


def concatenate(batches: Sequence[GraphBatch]) -> GraphBatch:
    """Several batches as one, in order: only their numbers are shifted."""
    sizes = {
        "nodes": [batch.node_graph.shape[0] for batch in batches],
        "edges": [batch.heads.shape[0] for batch in batches],
        "graphs": [batch.size for batch in batches],
        "relations": [batch.relation_emb.shape[0] for batch in batches],
    }
    joined: dict[str, torch.Tensor] = {}
    for field in fields(GraphBatch):
        values = [getattr(batch, field.name) for batch in batches]
        if field.name == "gt_paths":
            joined[field.name] = _join_paths(values, sizes["edges"])
        elif field.name in _POINTERS:
            joined[field.name] = _join_pointers(values)
        else:
            unit = _COUNTED_IN.get(field.name)
            joined[field.name] = torch.cat(_moved_up(values, sizes[unit]) if unit else values)
    return GraphBatch(**joined)


def _moved_up(values: Sequence[torch.Tensor], sizes: Sequence[int]) -> list[torch.Tensor]:
    first = [0, *accumulate(sizes)]
    return [value + offset for value, offset in zip(values, first, strict=False)]


def _join_pointers(values: Sequence[torch.Tensor]) -> torch.Tensor:
    moved = _moved_up(values, [int(value[-1]) for value in values])
    return torch.cat([*(value[:-1] for value in moved), moved[-1][-1:]])


def _join_paths(values: Sequence[torch.Tensor], edges: Sequence[int]) -> torch.Tensor:
    width, total = max(value.shape[1] for value in values), sum(edges)
    rows = []
    for value, moved, count in zip(values, _moved_up(values, edges), edges, strict=True):
        row = torch.where(value < 0, value, torch.where(value == count, total, moved))
        rows.append(torch.nn.functional.pad(row, (0, width - value.shape[1]), value=-1))
    return torch.cat(rows)


def from_pyg(graphs: Sequence[Data], tables: EmbeddingTables) -> GraphBatch:
    """Lay out agent graphs, PyG `Data`; `tables` holds the embeddings that their numbers name."""
    batch: Any = Batch.from_data_list(list(graphs))
    relations, edge_relation = torch.unique(batch.edge_attr, return_inverse=True)
    node_emb = tables.entities(batch.node_embedding_ids)
    return flat_batch(batch, node_emb, tables.relations(relations), edge_relation)


def pointers(owner: torch.Tensor, size: int) -> torch.Tensor:
    """[size + 1]: where each of `size` owners begins in a sorted list of owners."""
    counts = torch.bincount(owner, minlength=size)
    return torch.cat([counts.new_zeros(1), counts.cumsum(0)])


def _rows(values: torch.Tensor, row: torch.Tensor, size: int) -> torch.Tensor:
    first = pointers(row, size)
    width = max(1, int(first.diff().max())) if size else 1
    rows = values.new_full((size, width), -1)
    rows[row, torch.arange(values.shape[0], device=values.device) - first[row]] = values
    return rows


def _move(tensor: torch.Tensor, device: torch.device | str, dtype: torch.dtype | None) -> torch.Tensor:
    return tensor.to(device=device, dtype=dtype if tensor.is_floating_point() else None)
