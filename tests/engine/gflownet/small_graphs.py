"""Small multigraphs on which every trajectory can be listed, and a search that shares nothing with the engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace

import torch

from engine.gflownet.sampler.graph_batch import GraphBatch, flat_batch

WIDTH = 8


@dataclass(frozen=True)
class SmallGraph:
    """`triples` are (head, relation, tail) by local number, in stored order."""

    name: str
    triples: tuple[tuple[int, int, int], ...]
    starts: tuple[int, ...]
    answers: tuple[int, ...]
    gt_path: tuple[int, ...] = ()

    @property
    def nodes(self) -> int:
        """How many there are, isolated ones included."""
        return 1 + max([node for h, _, t in self.triples for node in (h, t)] + [*self.starts, *self.answers])


SMALL_GRAPHS = (
    SmallGraph("parallel edges", ((0, 0, 1), (0, 1, 1), (0, 1, 1), (1, 2, 2)), (0,), (2,), (0, 3)),
    SmallGraph("cycle", ((0, 0, 1), (1, 0, 2), (2, 0, 0), (1, 1, 1), (2, 1, 3)), (0,), (3,), (0, 1, 4)),
    SmallGraph(
        "hub",
        (
            *((node, 0, 9) for node in range(9)),
            *((0, 1, node) for node in range(1, 5)),
            (9, 2, 10),
            (9, 2, 11),
            (0, 2, 12),
            (12, 2, 10),
        ),
        (0,),
        (10,),
        (0, 13),
    ),
    SmallGraph("two starts", ((0, 0, 2), (1, 0, 2), (2, 1, 3), (1, 2, 3), (2, 2, 0)), (0, 1), (3,), (0, 2)),
    SmallGraph("dead end", ((0, 0, 1), (0, 1, 2), (2, 0, 3)), (0,), (3,), (1, 2)),
    SmallGraph("unreachable answer", ((0, 0, 1), (1, 0, 2), (3, 0, 4)), (0,), (4,)),
    SmallGraph("two answers", ((0, 0, 1), (1, 1, 2), (0, 2, 2), (2, 0, 3)), (0,), (1, 3), (0,)),
    SmallGraph("no edges", (), (0,), (1,)),
)


def independent_walks(
    graph: SmallGraph, max_steps: int, revisit: bool = False, backtrack: bool = False
) -> set[tuple[int, ...]]:
    """Every legal sequence of stored edge numbers, by depth-first search over Python lists."""
    found: set[tuple[int, ...]] = set()

    def extend(path: list[int], nodes: list[int]) -> None:
        found.add(tuple(path))
        if len(path) == max_steps:
            return
        for number, (head, _, tail) in enumerate(graph.triples):
            here = [head] if not nodes and head in graph.starts else nodes
            if not here or head != here[-1]:
                continue
            if not revisit and tail in here:
                continue
            if not backtrack and len(here) > 1 and tail == here[-2]:
                continue
            extend([*path, number], [*here, tail])

    extend([], [])
    return found


def rewards(graph: SmallGraph, walks: set[tuple[int, ...]]) -> dict[tuple[int, ...], float]:
    """R(x) at the default rewards (10 and 0.01, over the largest), by the definition."""
    worth = {}
    for walk in walks:
        nodes = {node for edge in walk for node in (graph.triples[edge][0], graph.triples[edge][2])}
        worth[walk] = 1.0 if nodes & set(graph.answers) else 0.001
    return worth


def embedding(kind: int, number: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    """[WIDTH]: the same for the same thing wherever it stands."""
    return torch.randn(WIDTH, generator=torch.Generator().manual_seed(1000 * kind + number), dtype=dtype)


def made_batch(
    *,
    question_emb: torch.Tensor,
    node_emb: torch.Tensor,
    relation_emb: torch.Tensor,
    node_graph: torch.Tensor,
    edge_index: torch.Tensor,
    edge_relation: torch.Tensor,
    edge_scores: torch.Tensor,
    edge_labels: torch.Tensor,
    starts: torch.Tensor,
    answers: torch.Tensor,
    gt_path_edges: torch.Tensor,
) -> GraphBatch:
    """A batch from flat tensors; all gold answers are those in the graphs."""
    graphs = SimpleNamespace(
        question_emb=question_emb,
        batch=node_graph,
        edge_index=edge_index,
        edge_scores=edge_scores,
        edge_labels=edge_labels,
        start_node_locals=starts,
        answer_node_locals=answers,
        gt_path_edge_local_ids=gt_path_edges,
        gold_count=torch.bincount(node_graph[answers.unique()], minlength=question_emb.shape[0]),
    )
    return flat_batch(graphs, node_emb, relation_emb, edge_relation)


def small_batch(
    graphs: Sequence[SmallGraph],
    orders: Sequence[Sequence[int]] | None = None,
    dtype: torch.dtype = torch.float64,
) -> GraphBatch:
    """The graphs as one batch. `orders` gives each graph's nodes another numbering: node n becomes orders[g][n]."""
    heads, tails, relations, starts, answers, gt, node_graph, node_emb, questions = ([] for _ in range(9))
    first_node = first_edge = 0
    for place, graph in enumerate(graphs):
        order = list(orders[place]) if orders else list(range(graph.nodes))
        heads += [first_node + order[h] for h, _, _ in graph.triples]
        tails += [first_node + order[t] for _, _, t in graph.triples]
        relations += [r for _, r, _ in graph.triples]
        starts += [first_node + order[node] for node in graph.starts]
        answers += [first_node + order[node] for node in graph.answers]
        gt += [first_edge + edge for edge in graph.gt_path]
        node_graph += [place] * graph.nodes
        inverse = {new: old for old, new in enumerate(order)}
        seed = sum(map(ord, graph.name))
        node_emb += [embedding(seed, inverse[node], dtype) for node in range(graph.nodes)]
        questions.append(embedding(7, seed, dtype))
        first_node += graph.nodes
        first_edge += len(graph.triples)
    scores = [0.05 + 0.9 * ((7 * h + 3 * t + r) % 11) / 11 for g in graphs for h, r, t in g.triples]
    labels = torch.zeros(len(heads), dtype=dtype)
    labels[torch.tensor(gt, dtype=torch.long)] = 1
    return made_batch(
        question_emb=torch.stack(questions),
        node_emb=torch.stack(node_emb),
        relation_emb=torch.stack([embedding(3, relation, dtype) for relation in range(3)]),
        node_graph=torch.tensor(node_graph),
        edge_index=torch.tensor([heads, tails], dtype=torch.long).reshape(2, -1),
        edge_relation=torch.tensor(relations, dtype=torch.long),
        edge_scores=torch.tensor(scores, dtype=dtype),
        edge_labels=labels,
        starts=torch.tensor(starts, dtype=torch.long),
        answers=torch.tensor(answers, dtype=torch.long),
        gt_path_edges=torch.tensor(gt, dtype=torch.long),
    )


def stored_paths(batch: GraphBatch, edges: torch.Tensor) -> list[tuple[int, ...]]:
    """Walks [J, T] of batch edge numbers as stored edge numbers of their graphs."""
    return [tuple(int(batch.edge_local[edge]) for edge in row if edge >= 0) for row in edges]
