"""Random retrieval graphs: parallel edges, self-loops, cycles, hubs, unreachable answers, equal scores."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import strategies as st
from torch_geometric.data import Data

from engine.gflownet.graphs.shortest_paths import shortest_paths

WIDTH = 4


@st.composite
def scored_graphs(draw: st.DrawFn) -> tuple[Data, torch.Tensor]:
    """A retrieval graph in the dataset's fields, and the scores of its edges."""
    nodes = draw(st.integers(2, 9))
    node = st.integers(0, nodes - 1)
    edges = draw(st.lists(st.tuples(node, st.integers(0, 2), node), min_size=1, max_size=24, unique=True))
    starts = draw(st.lists(node, min_size=1, max_size=3, unique=True))
    answers = draw(st.lists(node, max_size=3, unique=True))
    scores = draw(st.lists(st.sampled_from((0.1, 0.3, 0.3, 0.9)), min_size=len(edges), max_size=len(edges)))
    return retrieval_graph(nodes, edges, starts, answers), torch.tensor(scores)


def retrieval_graph(
    nodes: int, edges: list[tuple[int, int, int]], starts: list[int], answers: list[int]
) -> Data:
    """`edges` are (head, relation, tail). Node n is entity 100 + n with row 200 + n, relation r is 10 + r. A further
    gold answer, entity 199, is not in the graph."""
    heads, relations, tails = (np.array(column, dtype=np.int64) for column in zip(*edges, strict=True))
    found = shortest_paths(nodes, heads, tails, starts, answers)
    return Data(
        edge_index=torch.tensor(np.stack([heads, tails])),
        edge_attr=torch.from_numpy(relations) + 10,
        labels=torch.from_numpy(found.labels.astype(np.float32)),
        num_nodes=nodes,
        node_global_ids=torch.arange(nodes) + 100,
        node_embedding_ids=torch.arange(nodes) + 200,
        question_emb=torch.arange(WIDTH, dtype=torch.float32)[None],
        question="which?",
        sample_id="q",
        q_local_indices=torch.tensor(starts, dtype=torch.long),
        a_local_indices=torch.tensor(answers, dtype=torch.long),
        answer_entity_ids=torch.tensor([*answers, 99], dtype=torch.long) + 100,
        answers=[f"entity {100 + answer}" for answer in (*answers, 99)],
        gt_path_edge_indices=found.paths,
    )
