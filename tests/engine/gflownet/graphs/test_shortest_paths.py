"""Labels and paths against every simple path, listed."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from engine.gflownet.graphs.shortest_paths import known_paths, shortest_paths

NODES = 6
node = st.integers(0, NODES - 1)
some_nodes = st.lists(node, min_size=1, max_size=3, unique=True)


@given(st.lists(st.tuples(node, node), max_size=14), some_nodes, some_nodes)
def test_labels_are_the_edges_of_all_shortest_paths(
    edges: list[tuple[int, int]], starts: list[int], answers: list[int]
):
    heads = np.array([head for head, _ in edges], dtype=np.int64)
    tails = np.array([tail for _, tail in edges], dtype=np.int64)
    found = shortest_paths(NODES, heads, tails, starts, answers)
    expected: set[int] = set()
    lengths: list[int] = []
    for start in starts:
        for answer in answers:
            paths = simple_paths(edges, start, answer) if start != answer else []
            shortest = min(map(len, paths), default=0)
            lengths += [shortest] if paths else []
            expected |= {edge for path in paths if len(path) == shortest for edge in path}
    assert set(np.nonzero(found.labels)[0].tolist()) == expected
    assert [len(path) for path in found.paths] == sorted(lengths)[:8]
    for path in found.paths:
        assert edges[path[0]][0] in starts and edges[path[-1]][1] in answers
        assert all(edges[a][1] == edges[b][0] for a, b in itertools.pairwise(path))


def test_a_shortest_path_takes_kept_edges_alone():
    """From 0 to 3 by 1 or by 2: the edge to 1 is not kept, so that the one from 1 leads nowhere."""
    heads, tails = np.array([0, 0, 1, 2]), np.array([1, 2, 3, 3])
    found = shortest_paths(4, heads, tails, [0], [3], np.array([False, True, True, True]))
    assert found.paths == [[1, 3]] and found.labels.tolist() == [1, 1, 1, 1]
    none = shortest_paths(4, heads, tails, [0], [3], np.array([False, True, True, False]))
    assert none.paths == []


def simple_paths(edges: list[tuple[int, int]], start: int, answer: int) -> list[list[int]]:
    found: list[list[int]] = []

    def extend(path: list[int], nodes: list[int]) -> None:
        if nodes[-1] == answer:
            found.append(path)
            return
        for number, (head, tail) in enumerate(edges):
            if head == nodes[-1] and tail not in nodes:
                extend([*path, number], [*nodes, tail])

    extend([], [start])
    return found


def test_of_given_paths_the_shortest_is_taught_and_all_are_labels():
    found = known_paths([[0, 1], [2], [3, 4, 3, 5]], 7)
    assert found.paths == [[2], [0, 1], [3, 4, 3, 5]], "whole, also where an edge is taken twice"
    assert found.labels.tolist() == [1, 1, 1, 1, 1, 1, 0]


def test_of_many_paths_all_are_kept_and_are_labels():
    """Of nine given ones, and of those from three starts to three answers."""
    given = known_paths([[number] for number in range(9)], 9)
    assert given.paths == [[number] for number in range(9)] and given.labels.all()
    heads, tails = (
        np.array(ends, dtype=np.int64) for ends in zip(*itertools.product((0, 1, 2), (3, 4, 5)), strict=True)
    )
    found = shortest_paths(NODES, heads, tails, [0, 1, 2], [3, 4, 5])
    assert found.paths == [[number] for number in range(9)] and found.labels.all()
