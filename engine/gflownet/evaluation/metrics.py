"""Every figure of a sampler's trajectories, by its name in the spec (GFlowNet 4.1, 9).

Figures come a question at a time, [B], so that callers can compute intervals over questions. Trajectories of
question b are the rows b*K .. b*K + K - 1. `answer_recall_...` is a share of the answers in the agent graph,
`gold_recall_...` of all gold answers of the question, as the benchmarks of the field count.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from scipy.stats import rankdata

from engine.gflownet.sampler.environment import Walks
from engine.gflownet.sampler.graph_batch import GraphBatch
from engine.gflownet.sampler.reward import RewardOutput, answers_met, f1, first_occurrences, gold_edges
from engine.gflownet.sampler.segments import best_of_each

Figures = dict[str, torch.Tensor]


def trajectory_figures(batch: GraphBatch, walks: Walks, reward: RewardOutput) -> Figures:
    """Figures [J] of single trajectories (spec 9.1)."""
    exists = batch.gt_paths[walks.graph, 0] >= 0
    return {
        "rollout_reward": reward.reward,
        "success_mean": reward.success.to(reward.reward),
        "reach_frac": reward.reach_frac,
        "answer_precision": reward.answer_precision,
        "answer_recall": reward.answer_recall,
        "answer_f1": reward.answer_f1,
        **_named("path_hit", path_hit(batch, walks)),
        **_named("gt_path", _gt_path(batch, walks)),
        "gt_path_full_hit": (_full_hit(batch, walks) & exists).to(reward.reward),
        "length_mean": walks.length.to(reward.reward),
    }


def question_figures(
    batch: GraphBatch,
    walks: Walks,
    reward: RewardOutput,
    path_hit_k: Sequence[int],
    success_k: Sequence[int],
    log_weight: torch.Tensor | None = None,
) -> Figures:
    """Figures [B] over each question's K trajectories (spec 9.2). `log_weight` [B * K]: what each path counts for in
    `hits@1`; without it, all count the same."""
    size = batch.size
    each = walks.graph.shape[0] // max(1, size)

    def by_question(values: torch.Tensor) -> torch.Tensor:
        return values.reshape(size, each, *values.shape[1:])

    single = trajectory_figures(batch, walks, reward)
    figures = {name: by_question(values).mean(1) for name, values in single.items()}
    success = by_question(reward.success)
    hit_gt = by_question(gold_edges(batch, walks.edges)).any(2)
    for k in sorted({1, *success_k, each}):
        if k > each:
            continue  # one greedy path has no success@10
        first = Walks(
            *(by_question(rows)[:, :k].flatten(0, 1) for rows in (walks.graph, walks.edges, walks.nodes))
        )
        answers = modes(batch, first)
        figures[f"success@{k}"] = success[:, :k].any(1).to(reward.reward)
        figures[f"answer_hit_any@{k}"] = (answers > 0).to(reward.reward)
        figures[f"answer_recall_union@{k}"] = answers / batch.answer_count.clamp(min=1)
        figures[f"gold_recall_union@{k}"] = answers / batch.gold_count.clamp(min=1)
        figures[f"path_hit_any@{k}"] = hit_gt[:, :k].any(1).to(reward.reward)
        figures[f"unique_paths@{k}"] = unique_paths(first, size)
        hits = success[:, :k].flatten()
        figures[f"unique_success_paths@{k}"] = unique_paths(first.rows(hits), size)
        figures[f"path_f1_union@{k}"] = _union_f1(batch, first)
    for window in path_hit_k:
        for name, values in _named("path_hit", path_hit(batch, walks, window)).items():
            figures[f"{name}@{window}"] = by_question(values).mean(1)
    figures["hits@1"] = top_end_is_answer(batch, walks, log_weight)
    figures["modes_found"] = modes(batch, walks)
    figures["modes_recall"] = figures["modes_found"] / batch.answer_count.clamp(min=1)
    figures["unique_paths"] = figures[f"unique_paths@{each}"]
    return figures


def _named(kind: str, scores: tuple[torch.Tensor, torch.Tensor, torch.Tensor]) -> Figures:
    return {
        f"{kind}_{name}": values for name, values in zip(("precision", "recall", "f1"), scores, strict=True)
    }


def path_hit(
    batch: GraphBatch, walks: Walks, window: int | None = None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Precision, recall and F1 [J] of the first `window` walked edges, each counted once, against the edges of all
    shortest paths."""
    edges = walks.edges[:, :window]
    walked = first_occurrences(edges)
    hits = (gold_edges(batch, edges) & walked).sum(1).to(batch.edge_scores)
    return _against(hits, walked.sum(1), batch.gt_edge_count[walks.graph])


def _gt_path(batch: GraphBatch, walks: Walks) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Precision, recall and F1 [J] of the walked edges against those of the ground-truth path that is taught."""
    truth = batch.gt_paths[walks.graph]
    absent = truth == batch.heads.shape[0]  # one number for all edges that are not in this part of the graph
    walked, taught = first_occurrences(walks.edges), first_occurrences(truth) | absent
    hits = ((walks.edges[:, :, None] == truth[:, None, :]).any(2) & walked).sum(1).to(batch.edge_scores)
    return _against(hits, walked.sum(1), taught.sum(1))


def _against(
    hits: torch.Tensor, walked: torch.Tensor, truth: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Precision, recall and F1 of numbers of edges."""
    precision, recall = hits / walked.clamp(min=1), hits / truth.clamp(min=1)
    return precision, recall, f1(precision, recall)


def modes(batch: GraphBatch, walks: Walks) -> torch.Tensor:
    """Distinct answers met by any of a question's trajectories [B]."""
    met, _ = answers_met(batch, walks)
    nodes = walks.nodes[met].unique()
    return torch.bincount(batch.node_graph[nodes], minlength=batch.size).to(batch.edge_scores)


def top_end_is_answer(batch: GraphBatch, walks: Walks, log_weight: torch.Tensor | None) -> torch.Tensor:
    """Whether the answer that a user would read off the paths is right [B]: the entity at which the most weight of a
    question's paths ends (of equals, the one that comes first). Paths without an edge name no entity."""
    length = walks.length
    ended = length > 0
    end = walks.nodes.gather(1, length[:, None])[ended, 0]
    graph = walks.graph[ended]
    weight = torch.ones_like(graph, dtype=torch.float64)
    if log_weight is not None:
        log_weight = log_weight[ended].double()
        largest = torch.full((batch.size,), -torch.inf, dtype=torch.float64, device=graph.device)
        largest = largest.scatter_reduce(0, graph, log_weight, "amax")
        weight = (log_weight - largest[graph]).exp()
    total = torch.zeros(batch.node_graph.shape[0], dtype=torch.float64, device=graph.device)
    total = total.index_add(0, end, weight)[end]
    hits = batch.edge_scores.new_zeros(batch.size)
    best = best_of_each(graph, total, batch.size, 1)
    hits[graph[best]] = batch.is_answer[end[best]].to(hits)
    return hits


def unique_paths(walks: Walks, size: int) -> torch.Tensor:
    """Distinct paths among a question's trajectories [B]; the empty path counts."""
    signature = torch.cat([walks.graph[:, None], walks.edges], 1).unique(dim=0)
    return torch.bincount(signature[:, 0], minlength=size).double()


def pearson(x: torch.Tensor, y: torch.Tensor) -> float:
    """Correlation of two [J], 0 where either does not vary."""
    x, y = x.double() - x.double().mean(), y.double() - y.double().mean()
    scale = x.norm() * y.norm()
    return float((x * y).sum() / scale) if scale > 1e-12 else 0.0


def spearman(x: torch.Tensor, y: torch.Tensor) -> float:
    """Correlation of the ranks of two [J]; equal values share their mean rank."""
    return pearson(*(torch.from_numpy(rankdata(values)) for values in (x, y))) if x.numel() else 0.0


def _full_hit(batch: GraphBatch, walks: Walks) -> torch.Tensor:
    """Whether every edge of the question's ground-truth path was walked [J]."""
    truth = batch.gt_paths[walks.graph]
    walked = (truth[:, :, None] == walks.edges[:, None, :]).any(2)
    return (walked | (truth < 0)).all(1)


def _union_f1(batch: GraphBatch, walks: Walks) -> torch.Tensor:
    edges = walks.edges[walks.edges >= 0].unique()
    owner = batch.edge_graph[edges]
    like = batch.edge_scores
    hits = torch.bincount(owner[batch.is_gt_edge[edges]], minlength=batch.size).to(like)
    walked = torch.bincount(owner, minlength=batch.size)
    return _against(hits, walked, batch.gt_edge_count)[2]
