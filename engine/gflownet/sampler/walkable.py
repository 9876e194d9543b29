"""The subgraph that walks can reach: all that a sampler of short paths reads of a large graph."""

from __future__ import annotations

from dataclasses import replace

import torch

from engine.gflownet.graphs.shortest_paths import distances
from engine.gflownet.sampler.graph_batch import GraphBatch, pointers


def walkable(batch: GraphBatch, steps: int, look_ahead: int = 0, backward: bool = False) -> GraphBatch:
    """The edges that a walk of at most `steps` can take, and those `look_ahead` further on.

    With `backward` also all edges that reach a node on such a walk, which a learned P_B compares. Walks, their
    probabilities and figures are those of the whole graph; `edge_local` still counts in it.
    """
    near = _within(batch, steps + look_ahead - 1)
    kept = near[batch.heads]
    if backward:
        kept = kept | _within(batch, steps)[batch.tails]
    edges = torch.nonzero(kept)[:, 0]
    has_node = near.clone()
    has_node[batch.heads[edges]] = True
    has_node[batch.tails[edges]] = True
    has_node[batch.starts] = True
    return _subgraph(batch, torch.nonzero(has_node)[:, 0], edges)


def _within(batch: GraphBatch, hops: int) -> torch.Tensor:
    """[N]: nodes at most `hops` edges behind a start."""
    nodes = batch.node_graph.shape[0]
    distance = distances(batch.heads.numpy(), batch.tails.numpy(), batch.starts.numpy(), nodes, hops)
    return torch.from_numpy(distance <= hops)


def _subgraph(batch: GraphBatch, nodes: torch.Tensor, edges: torch.Tensor) -> GraphBatch:
    """Only `nodes` and `edges`, both sorted; ends of the edges are among the nodes."""
    node_place = torch.full_like(batch.node_graph, -1)
    node_place[nodes] = torch.arange(nodes.shape[0], device=nodes.device)
    # A last entry for edges that are not in this batch.
    edge_place = torch.full((batch.heads.shape[0] + 1,), edges.shape[0], device=edges.device)
    edge_place[edges] = torch.arange(edges.shape[0], device=edges.device)
    heads, tails = node_place[batch.heads[edges]], node_place[batch.tails[edges]]
    relations, edge_relation = torch.unique(batch.edge_relation[edges], return_inverse=True)
    paths = torch.where(batch.gt_paths < 0, -1, edge_place[batch.gt_paths.clamp(min=0)])
    return replace(
        batch,
        node_emb=batch.node_emb[nodes],
        relation_emb=batch.relation_emb[relations],
        node_graph=batch.node_graph[nodes],
        heads=heads,
        tails=tails,
        edge_relation=edge_relation,
        edge_graph=batch.edge_graph[edges],
        edge_local=batch.edge_local[edges],
        edge_scores=batch.edge_scores[edges],
        out_ptr=pointers(heads, nodes.shape[0]),
        out_degree=batch.out_degree[nodes],
        in_degree=batch.in_degree[nodes],
        starts=node_place[batch.starts],
        is_answer=batch.is_answer[nodes],
        is_gt_edge=batch.is_gt_edge[edges],
        gt_paths=paths,
    )
