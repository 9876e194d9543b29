"""GAgentBuilder: from a scored retrieval graph to the smaller graph that is walked (spec GFlowNet 0.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from engine.config.gflownet import AgentGraphsSection
from engine.gflownet.agent_graphs.samples import GAgentSample
from engine.gflownet.graphs.shortest_paths import distances, shortest_paths


@dataclass(frozen=True)
class Dropped:
    """A sample that is left out, and why."""

    reason: str


class GAgentBuilder:
    """Anchors are the ends of the `anchor_top_k` best-scored edges. Kept are all edges on a way of at most `hops` edges
    from a start to an anchor: the spec's Seed -> Anchor selection where `hops` is 2.

    In the spec such a way ends at its first anchor (`through_anchors` off), which loses s -> m -> a where m is an end
    of a well-scored edge, as it is on every well-scored path.
    """

    def __init__(self, section: AgentGraphsSection) -> None:
        self.section = section

    def build(self, data: Any, scores: torch.Tensor, keep_gt: bool) -> GAgentSample | Dropped:
        """The agent graph of `data`, a retrieval graph whose edges have `scores` [E]; `keep_gt` adds gt paths."""
        if not data.a_local_indices.numel():
            return Dropped("answer outside the graph")
        if not data.gt_path_edge_indices:
            return Dropped("answer out of reach")
        top = torch.zeros(scores.shape[0], dtype=torch.bool)
        top[torch.argsort(scores, descending=True, stable=True)[: self.section.anchor_top_k]] = True
        kept = self.select(data.edge_index, data.num_nodes, data.q_local_indices, top)
        if keep_gt:
            kept[torch.tensor([edge for path in data.gt_path_edge_indices for edge in path])] = True
        path = next(
            (path for path in data.gt_path_edge_indices if bool(kept[torch.tensor(path)].all())), None
        )
        path = path or _another_path(data, kept)
        if path is None:
            return Dropped("no shortest path among the selected edges")
        return _sample(data, scores, top, kept, path)

    def select(
        self, edge_index: torch.Tensor, nodes: int, starts: torch.Tensor, top: torch.Tensor
    ) -> torch.Tensor:
        """[E]: the edges on a way from a start to an anchor; `top` [E] are the edges whose ends are anchors."""
        head, tail = edge_index
        anchor = torch.zeros(nodes, dtype=torch.bool)
        anchor[edge_index[:, top].flatten()] = True
        start = torch.zeros(nodes, dtype=torch.bool)
        start[starts] = True
        usable = torch.ones_like(top) if self.section.through_anchors else start[head] | ~anchor[head]
        hops = self.section.hops
        heads, tails = edge_index[:, usable].numpy()
        behind = torch.from_numpy(distances(heads, tails, start.numpy(), nodes, hops))
        ahead = torch.from_numpy(distances(tails, heads, anchor.numpy(), nodes, hops))
        return usable & (behind[head] + 1 + ahead[tail] <= hops)


def _another_path(data: Any, kept: torch.Tensor) -> list[int] | None:
    """A shortest path of kept edges that is none of the stored ones, which are one for each start and answer; None
    where there is none, and where paths were given."""
    starts, answers = data.q_local_indices.tolist(), data.a_local_indices.tolist()
    heads, tails = data.edge_index.numpy()
    shortest = shortest_paths(data.num_nodes, heads, tails, starts, answers, kept.numpy())
    given = not np.array_equal(shortest.labels, data.labels)
    return None if given or not shortest.paths else shortest.paths[0]


def _sample(
    data: Any, scores: torch.Tensor, top: torch.Tensor, kept: torch.Tensor, path: list[int]
) -> GAgentSample:
    """Only the kept edges and their ends, numbered anew in their old order."""
    edges = torch.nonzero(kept)[:, 0]
    head, tail = data.edge_index[:, edges]
    nodes = torch.cat([head, tail]).unique()
    place = torch.full((data.num_nodes,), -1)
    place[nodes] = torch.arange(nodes.shape[0])
    edge_place = torch.full(kept.shape, -1)
    edge_place[edges] = torch.arange(edges.shape[0])
    starts, answers = (
        place[local][place[local] >= 0] for local in (data.q_local_indices, data.a_local_indices)
    )
    ids = data.node_global_ids[nodes]
    path_edges = edge_place[torch.tensor(path)]
    heads, tails = place[head], place[tail]
    return GAgentSample(
        sample_id=data.sample_id,
        question=data.question,
        answers=list(data.answers),
        question_emb=data.question_emb[0],
        node_entity_ids=ids,
        node_embedding_ids=data.node_embedding_ids[nodes],
        edge_head_locals=heads,
        edge_tail_locals=tails,
        edge_relations=data.edge_attr[edges],
        edge_scores=scores[edges],
        edge_labels=data.labels[edges],
        top_edge_mask=top[edges],
        start_entity_ids=ids[starts],
        start_node_locals=starts,
        answer_entity_ids=ids[answers],
        answer_node_locals=answers,
        gold_entity_ids=data.answer_entity_ids,
        gt_path_edge_local_ids=path_edges,
        gt_path_node_local_ids=torch.cat([heads[path_edges[:1]], tails[path_edges]]),
        gt_path_exists=True,
        is_answer_reachable=True,
    )
