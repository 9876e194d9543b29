"""GRetrievalDataset: the retrieval graphs of a split as PyG `Data` with the spec's fields (GFlowNet 0.2)."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch_geometric.data import Data

from engine.gflownet.graphs.store import RetrievalRecord, RetrievalStore, ints

NUM_TOPICS = 2


class GRetrievalDataset:
    """Reads a graph when it is asked for. `data[i]` is a new object each time."""

    def __init__(self, store: RetrievalStore, split: str) -> None:
        self._store = store
        self._split = split
        self._count = store.count(split)

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, number: int) -> Any:
        """The graph of record `number`, made by `graph_of`."""
        return graph_of(self._store.record(self._split, number))


def graph_of(record: RetrievalRecord) -> Any:
    """PyG `Data` of a record. Fields: edge_index [2, E], edge_attr [E], labels [E], num_nodes, node_global_ids [N],
    node_embedding_ids [N], topic_one_hot [N, 2], question_emb [1, D], question, sample_id, q_local_indices,
    a_local_indices, answer_entity_ids, answer_entity_ids_len, answers, gt_path_edge_indices, gt_paths_nodes,
    gt_paths_triples."""
    nodes, heads, tails, relations = map(ints, (record.nodes, record.heads, record.tails, record.relations))
    topic = torch.zeros(len(nodes), NUM_TOPICS)
    topic[:, 0] = 1
    topic[record.q_locals] = torch.tensor([0.0, 1.0])
    paths = record.gt_paths
    embedding = np.frombuffer(record.question_emb, dtype="<f4").copy()
    return Data(
        edge_index=torch.from_numpy(np.stack([heads, tails])),
        edge_attr=torch.from_numpy(relations.copy()),
        labels=torch.from_numpy(np.frombuffer(record.labels, dtype=np.uint8).astype(np.float32)),
        num_nodes=len(nodes),
        node_global_ids=torch.from_numpy(nodes.copy()),
        node_embedding_ids=torch.from_numpy(ints(record.node_rows).copy()),
        topic_one_hot=topic,
        question_emb=torch.from_numpy(embedding)[None],
        question=record.question,
        sample_id=record.sample_id,
        q_local_indices=torch.tensor(record.q_locals, dtype=torch.long),
        a_local_indices=torch.tensor(record.a_locals, dtype=torch.long),
        answer_entity_ids=torch.tensor(record.answer_entity_ids, dtype=torch.long),
        answer_entity_ids_len=len(record.answer_entity_ids),
        answers=record.answers,
        gt_path_edge_indices=paths,
        gt_paths_nodes=[[int(heads[path[0]]), *(int(tails[edge]) for edge in path)] for path in paths],
        gt_paths_triples=[
            [(int(nodes[heads[e]]), int(relations[e]), int(nodes[tails[e]])) for e in path] for path in paths
        ],
    )
