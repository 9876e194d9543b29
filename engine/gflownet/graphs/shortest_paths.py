"""The retriever's labels and the paths that are taught: shortest directed paths from starts to answers, or those that
the data set gives."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MOST_PATHS = 8
"""Paths kept of a question; `labels` marks the edges of all paths."""


@dataclass(frozen=True)
class TaughtPaths:
    """`labels` [E]: 1 on any shortest path of any pair (start, answer), or on any given path. `paths`: edge numbers of
    some of them, shortest first; of shortest paths at most one for each pair."""

    labels: NDArray[np.uint8]
    paths: list[list[int]]


def shortest_paths(
    nodes: int,
    heads: NDArray[np.int64],
    tails: NDArray[np.int64],
    starts: Sequence[int],
    answers: Sequence[int],
) -> TaughtPaths:
    """Breadth-first from each start, and back along equal steps from each answer (spec GFlowNet 0.2)."""
    labels = np.zeros(len(heads), dtype=np.uint8)
    leaving = _lists(heads, nodes)
    arriving = _lists(tails, nodes)
    paths: list[list[int]] = []
    for start in starts:
        distance = _distances(start, leaving, tails, nodes)
        for answer in answers:
            if answer == start or distance[answer] < 0:
                continue
            labels[_edges_back(answer, distance, arriving, heads)] = 1
            paths.append(_first_path(answer, distance, arriving, heads))
    paths.sort(key=len)
    return TaughtPaths(labels, paths[:MOST_PATHS])


def known_paths(paths: Sequence[Sequence[int]], edges: int) -> TaughtPaths:
    """Paths that are given, by their edge numbers; they may take an edge twice."""
    labels = np.zeros(edges, dtype=np.uint8)
    for path in paths:
        labels[list(path)] = 1
    return TaughtPaths(labels, sorted(map(list, paths), key=len)[:MOST_PATHS])


def _lists(ends: NDArray[np.int64], nodes: int) -> list[list[int]]:
    lists: list[list[int]] = [[] for _ in range(nodes)]
    for edge, node in enumerate(ends.tolist()):
        lists[node].append(edge)
    return lists


def _distances(start: int, leaving: list[list[int]], tails: NDArray[np.int64], nodes: int) -> list[int]:
    distance = [-1] * nodes
    distance[start] = 0
    waiting = deque([start])
    while waiting:
        node = waiting.popleft()
        for edge in leaving[node]:
            tail = int(tails[edge])
            if distance[tail] < 0:
                distance[tail] = distance[node] + 1
                waiting.append(tail)
    return distance


def _before(node: int, distance: list[int], arriving: list[list[int]], heads: NDArray[np.int64]) -> list[int]:
    return [edge for edge in arriving[node] if distance[int(heads[edge])] == distance[node] - 1 >= 0]


def _edges_back(
    answer: int, distance: list[int], arriving: list[list[int]], heads: NDArray[np.int64]
) -> list[int]:
    edges: list[int] = []
    seen, waiting = {answer}, [answer]
    while waiting:
        for edge in _before(waiting.pop(), distance, arriving, heads):
            edges.append(edge)
            head = int(heads[edge])
            if head not in seen:
                seen.add(head)
                waiting.append(head)
    return edges


def _first_path(
    answer: int, distance: list[int], arriving: list[list[int]], heads: NDArray[np.int64]
) -> list[int]:
    path: list[int] = []
    node = answer
    while distance[node] > 0:
        edge = _before(node, distance, arriving, heads)[0]
        path.append(edge)
        node = int(heads[edge])
    return path[::-1]
