"""Seed -> Anchor selection against its literal reading, and what becomes of numbers, paths and dropped samples."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from engine.config.gflownet import AgentGraphsSection
from engine.gflownet.agent_graphs.builder import Dropped, GAgentBuilder
from engine.gflownet.agent_graphs.samples import GAgentSample
from engine.gflownet.agent_graphs.store import load_samples, save_samples
from tests.engine.gflownet.graphs.test_shortest_paths import simple_paths
from tests.engine.gflownet.random_graphs import retrieval_graph, scored_graphs

Edges = list[tuple[int, int]]


def literal_top(scores: list[float], most: int) -> list[int]:
    """The best-scored edges; of equals, the first."""
    return sorted(range(len(scores)), key=lambda edge: (-scores[edge], edge))[:most]


def literal_two_hops(edges: Edges, starts: set[int], anchors: set[int]) -> set[int]:
    """Spec GFlowNet 0.3, step 3, an edge at a time: hop 1 from each seed, hop 2 from each frontier node."""
    selected: set[int] = set()
    frontier: dict[int, set[int]] = {}
    for number, (head, tail) in enumerate(edges):
        if head in starts:
            if tail in anchors:
                selected.add(number)
            else:
                frontier.setdefault(tail, set()).add(number)
    for middle, led_here in frontier.items():
        for number, (head, tail) in enumerate(edges):
            if head == middle and tail in anchors:
                selected |= led_here | {number}
    return selected


def literal_ways(edges: Edges, starts: set[int], anchors: set[int], hops: int, through: bool) -> set[int]:
    """Edges of all walks of at most `hops` edges from a start to an anchor, by listing every walk."""
    selected: set[int] = set()

    def extend(node: int, walk: tuple[int, ...]) -> None:
        if walk and node in anchors:
            selected.update(walk)
        stopped = node in anchors and node not in starts and not through
        if len(walk) == hops or stopped:
            return
        for number, (head, tail) in enumerate(edges):
            if head == node:
                extend(tail, (*walk, number))

    for start in starts:
        extend(start, ())
    return selected


def selected_by(section: AgentGraphsSection, data: Any, scores: torch.Tensor) -> set[int]:
    top = torch.zeros(len(scores), dtype=torch.bool)
    top[literal_top(scores.tolist(), section.anchor_top_k)] = True
    kept = GAgentBuilder(section).select(data.edge_index, data.num_nodes, data.q_local_indices, top)
    return set(torch.nonzero(kept)[:, 0].tolist())


def parts_of(data: Any, scores: torch.Tensor, anchor_top_k: int) -> tuple[Edges, set[int], set[int]]:
    edges = [(int(head), int(tail)) for head, tail in data.edge_index.T]
    top = literal_top(scores.tolist(), anchor_top_k)
    return edges, set(data.q_local_indices.tolist()), {node for edge in top for node in edges[edge]}


@given(scored_graphs(), st.integers(1, 6))
def test_two_hops_are_those_of_the_literal_reading(graph: tuple[Any, torch.Tensor], anchor_top_k: int):
    section = AgentGraphsSection(anchor_top_k=anchor_top_k, hops=2, through_anchors=False)
    assert selected_by(section, *graph) == literal_two_hops(*parts_of(*graph, anchor_top_k))


@given(scored_graphs(), st.integers(1, 6), st.integers(1, 4), st.booleans())
def test_any_hops_are_all_ways_to_an_anchor(
    graph: tuple[Any, torch.Tensor], anchor_top_k: int, hops: int, through: bool
):
    section = AgentGraphsSection(anchor_top_k=anchor_top_k, hops=hops, through_anchors=through)
    assert selected_by(section, *graph) == literal_ways(*parts_of(*graph, anchor_top_k), hops, through)


@given(scored_graphs(), st.integers(1, 6), st.booleans())
def test_a_sample_is_the_selected_part_under_other_numbers(
    graph: tuple[Any, torch.Tensor], anchor_top_k: int, keep_gt: bool
):
    data, scores = graph
    section = AgentGraphsSection(anchor_top_k=anchor_top_k, hops=3)
    selected = selected_by(section, data, scores)
    if keep_gt:
        selected |= {edge for path in data.gt_path_edge_indices for edge in path}
    built = GAgentBuilder(section).build(data, scores, keep_gt)
    whole = [path for path in data.gt_path_edge_indices if set(path) <= selected]
    if not whole:  # not the one of a pair that is stored, but perhaps another
        whole = sorted((path for path in literal_shortest(data) if set(path) <= selected), key=len)
        if isinstance(built, GAgentSample):
            path = [sorted(selected)[edge] for edge in built.gt_path_edge_local_ids]
            assert path in whole and len(path) == len(whole[0])
            whole = [path]
    if isinstance(built, Dropped):
        assert not whole
        return
    kept = sorted(selected)
    assert whole
    assert triples(built) == [stored_triple(data, edge) for edge in kept]
    assert built.edge_scores.tolist() == scores[kept].tolist()
    assert built.edge_labels.tolist() == data.labels[kept].tolist()
    best = set(literal_top(scores.tolist(), anchor_top_k))
    assert built.top_edge_mask.tolist() == [edge in best for edge in kept]
    ends = {node for edge in kept for node in data.edge_index[:, edge].tolist()}
    assert built.node_entity_ids.tolist() == [100 + node for node in sorted(ends)]
    assert (built.node_embedding_ids - built.node_entity_ids == 100).all()
    for entities, local in (
        (built.start_entity_ids, data.q_local_indices),
        (built.answer_entity_ids, data.a_local_indices),
    ):
        assert entities.tolist() == [100 + node for node in local.tolist() if node in ends]
    path = [triples(built)[edge] for edge in built.gt_path_edge_local_ids]
    assert path == [stored_triple(data, edge) for edge in whole[0]]
    walked = [(int(node) + 100) for node in (data.edge_index[0, whole[0][0]], *data.edge_index[1, whole[0]])]
    assert built.node_entity_ids[built.gt_path_node_local_ids].tolist() == walked
    assert built.gt_path_exists and built.is_answer_reachable
    with TemporaryDirectory() as folder:
        save_samples(Path(folder) / "one.pt", [built])
        load_samples(Path(folder) / "one.pt")  # what is built passes the store's own checks


def literal_shortest(data: Any) -> list[list[int]]:
    """All shortest paths from a start to an answer that is another node."""
    edges = [(int(head), int(tail)) for head, tail in data.edge_index.T]
    found: list[list[int]] = []
    for start, answer in product(data.q_local_indices.tolist(), data.a_local_indices.tolist()):
        paths = simple_paths(edges, start, answer) if start != answer else []
        found += [path for path in paths if len(path) == min(map(len, paths))]
    return found


def triples(sample: GAgentSample) -> list[tuple[int, int, int]]:
    ids = sample.node_entity_ids
    columns = (ids[sample.edge_head_locals], sample.edge_relations, ids[sample.edge_tail_locals])
    return list(zip(*(column.tolist() for column in columns), strict=True))


def stored_triple(data: Any, edge: int) -> tuple[int, int, int]:
    head, tail = data.node_global_ids[data.edge_index[:, edge]].tolist()
    return head, int(data.edge_attr[edge]), tail


CHAIN = [(0, 0, 1), (1, 0, 2), (2, 0, 3), (0, 1, 4)]


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        ([], "answer outside the graph"),
        ([5], "answer out of reach"),
        ([0], "answer out of reach"),  # the start itself: there is nothing to walk
        ([3], "no shortest path among the selected edges"),
    ],
)
def test_what_cannot_be_walked_is_dropped_and_says_why(answers: list[int], reason: str):
    data = retrieval_graph(6, CHAIN, [0], answers)
    scores = torch.tensor([0.9, 0.8, 0.1, 0.2])
    built = GAgentBuilder(AgentGraphsSection(anchor_top_k=2)).build(data, scores, keep_gt=False)
    assert built == Dropped(reason)


def test_a_training_question_keeps_its_path_where_selection_loses_it():
    data = retrieval_graph(6, CHAIN, [0], [3])
    scores = torch.tensor([0.1, 0.1, 0.1, 0.9])
    builder = GAgentBuilder(AgentGraphsSection(anchor_top_k=1))
    assert isinstance(builder.build(data, scores, keep_gt=False), Dropped)
    helped = builder.build(data, scores, keep_gt=True)
    assert isinstance(helped, GAgentSample)
    assert triples(helped) == [stored_triple(data, edge) for edge in range(4)]
    assert helped.top_edge_mask.tolist() == [False, False, False, True]


def test_the_specs_reading_loses_a_way_through_an_anchor():
    """0 -> 1 -> 2 with the first edge scored best: 1 is an anchor, so the spec's ways end there."""
    data, scores = (
        retrieval_graph(4, [(0, 0, 1), (1, 0, 2), (3, 0, 2)], [0], [2]),
        torch.tensor([0.9, 0.1, 0.8]),
    )
    through = AgentGraphsSection(anchor_top_k=2, through_anchors=True)
    ending = AgentGraphsSection(anchor_top_k=2, through_anchors=False)
    assert selected_by(through, data, scores) == {0, 1}
    assert selected_by(ending, data, scores) == {0}


@pytest.mark.parametrize(("gold", "kept"), [(False, [2, 3]), (True, None)])
def test_a_question_keeps_the_shortest_path_that_is_selected_though_another_is_stored(
    gold: bool, kept: list[int] | None
):
    """0 -> 1 -> 3 is stored and lost at the anchor 1; 0 -> 2 -> 3 is as short and selected. It is no given path."""
    data = retrieval_graph(4, [(0, 0, 1), (1, 0, 3), (0, 0, 2), (2, 0, 3)], [0], [3])
    assert data.gt_path_edge_indices == [[0, 1]] and data.labels.tolist() == [1, 1, 1, 1]
    if gold:
        data.labels = torch.tensor([1.0, 1, 0, 0])
    scores = torch.tensor([0.1, 0.9, 0.1, 0.1])
    built = GAgentBuilder(AgentGraphsSection(anchor_top_k=1)).build(data, scores, keep_gt=False)
    if kept is None:
        assert built == Dropped("no shortest path among the selected edges")
    else:
        assert isinstance(built, GAgentSample) and triples(built) == [
            stored_triple(data, edge) for edge in (0, *kept)
        ]
        assert built.gt_path_edge_local_ids.tolist() == [1, 2]
