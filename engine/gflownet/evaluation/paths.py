"""The distinct paths among a question's samples, ranked, and in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from engine.events import PathStep, SampledPath
from engine.gflownet.graphs.tables import Texts
from engine.gflownet.sampler.actor import Rollout
from engine.gflownet.sampler.graph_batch import GraphBatch
from engine.gflownet.sampler.reward import RewardOutput


@dataclass(frozen=True)
class GraphNames:
    """The names of a one-question batch: of its nodes, and of the rows of its relation embeddings."""

    nodes: list[str]
    relations: list[str]

    @classmethod
    def of(cls, texts: Texts, data: Any) -> GraphNames:
        """Those of an agent graph, PyG `Data`."""
        nodes = [texts.entities[number] for number in data.node_global_ids.tolist()]
        return cls(nodes, [texts.relations[number] for number in data.edge_attr.unique().tolist()])


def ranked_paths(
    batch: GraphBatch, rollout: Rollout, reward: RewardOutput, names: GraphNames
) -> list[SampledPath]:
    """Distinct paths of a one-question batch: the most frequent first, then the most probable (ties: as drawn)."""
    counted: dict[tuple[int, ...], list[int]] = {}
    for row, edges in enumerate(rollout.walks.edges.tolist()):
        counted.setdefault(tuple(edge for edge in edges if edge >= 0), []).append(row)
    probability = rollout.log_pf.detach().double().exp().tolist()
    worth = reward.reward.tolist()
    order = sorted(counted, key=lambda path: (-len(counted[path]), -probability[counted[path][0]]))
    return [
        SampledPath(
            steps=[path_step(batch, edge, names) for edge in path],
            count=len(counted[path]),
            probability=probability[counted[path][0]],
            reward=worth[counted[path][0]],
            answers=_answers(batch, path, names),
        )
        for path in order
    ]


def path_step(batch: GraphBatch, edge: int, names: GraphNames) -> PathStep:
    """An edge in words."""
    tail = int(batch.tails[edge])
    return PathStep(
        head=names.nodes[int(batch.heads[edge])],
        relation=names.relations[int(batch.edge_relation[edge])],
        tail=names.nodes[tail],
        score=float(batch.edge_scores[edge]),
        gt=bool(batch.is_gt_edge[edge]),
        answer=bool(batch.is_answer[tail]),
    )


def top_triples(data: Any, scores: torch.Tensor, texts: Texts) -> Iterator[PathStep]:
    """All edges of a retrieval graph, PyG `Data`, best retriever score [E] first: SubgraphRAG's evidence."""
    names = [texts.entities[number] for number in data.node_global_ids.tolist()]
    answers = set(data.a_local_indices.tolist())
    for edge in torch.argsort(scores, descending=True, stable=True).tolist():
        head, tail = data.edge_index[:, edge].tolist()
        yield PathStep(
            head=names[head], relation=texts.relations[int(data.edge_attr[edge])], tail=names[tail],
            score=float(scores[edge]), gt=bool(data.labels[edge]), answer=tail in answers,
        )  # fmt: skip


def _answers(batch: GraphBatch, path: tuple[int, ...], names: GraphNames) -> list[str]:
    """Those that an edge leads to, as for the reward."""
    nodes = dict.fromkeys(int(batch.tails[edge]) for edge in path)
    return [names.nodes[node] for node in nodes if batch.is_answer[node]]
