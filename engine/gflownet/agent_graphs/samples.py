"""One question's agent graph, as it is stored and as the sampler reads it (spec GFlowNet 0.3)."""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class GAgentSample:
    """N nodes, E directed edges head -> tail, S starts, A answers inside the graph, G gold answers in all, D the
    embedding width.

    Node numbers are local (0..N-1), entity and relation numbers are global, embedding numbers are rows of
    `entity_embeddings.npy` (0: no text). All integers are int64, all scores float32. Scores are probabilities in
    (0, 1]. `gt_path_edge_local_ids` is one path from a start to an answer, in order; its nodes are one more.
    """

    sample_id: str
    question: str
    answers: list[str]  # texts of all gold answers
    question_emb: torch.Tensor  # [D]
    node_entity_ids: torch.Tensor  # [N]
    node_embedding_ids: torch.Tensor  # [N]
    edge_head_locals: torch.Tensor  # [E]
    edge_tail_locals: torch.Tensor  # [E]
    edge_relations: torch.Tensor  # [E]
    edge_scores: torch.Tensor  # [E]
    edge_labels: torch.Tensor  # [E] float32, 1 on shortest paths
    top_edge_mask: torch.Tensor  # [E] bool, among the anchor_top_k
    start_entity_ids: torch.Tensor  # [S]
    start_node_locals: torch.Tensor  # [S]
    answer_entity_ids: torch.Tensor  # [A], those inside the graph
    answer_node_locals: torch.Tensor  # [A]
    gold_entity_ids: torch.Tensor  # [G], inside the graph or not
    gt_path_edge_local_ids: torch.Tensor  # [P]
    gt_path_node_local_ids: torch.Tensor  # [P + 1]
    gt_path_exists: bool
    is_answer_reachable: bool
