"""The retriever's labels and the paths that are taught: shortest directed paths from starts to answers, or those that
the data set gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

FAR = 1 << 20
"""A distance beyond all others."""


@dataclass(frozen=True)
class TaughtPaths:
    """`labels` [E]: 1 on any shortest path of any pair (start, answer), or on any given path. `paths`: edge numbers of
    all that are given, or of one shortest path for each pair, shortest first."""

    labels: NDArray[np.uint8]
    paths: list[list[int]]


def shortest_paths(
    nodes: int,
    heads: NDArray[np.int64],
    tails: NDArray[np.int64],
    starts: Sequence[int],
    answers: Sequence[int],
    kept: NDArray[np.bool_] | None = None,
) -> TaughtPaths:
    """An edge is on a shortest path where the distances before and behind it add up to the path's length (spec GFlowNet
    0.2). `kept` [E]: the edges that `paths` may take; none: all."""
    labels = np.zeros(len(heads), dtype=np.uint8)
    ahead = [distances(tails, heads, answer, nodes) for answer in answers]
    paths: list[list[int]] = []
    for start in starts:
        behind = distances(heads, tails, start, nodes)
        for answer, to_answer in zip(answers, ahead, strict=True):
            length = int(behind[answer])
            if answer == start or length == FAR:
                continue
            on_path = np.flatnonzero(behind[heads] + 1 + to_answer[tails] == length)
            labels[on_path] = 1
            if kept is not None:
                on_path = on_path[kept[on_path]]
                reached = distances(heads[on_path], tails[on_path], start, nodes)
                on_path = on_path[reached[heads[on_path]] < FAR]
                if reached[answer] == FAR:
                    continue
            paths.append(_first_path(start, answer, on_path.tolist(), heads, tails))
    paths.sort(key=len)
    return TaughtPaths(labels, paths)


def distances(
    heads: NDArray[np.int64],
    tails: NDArray[np.int64],
    sources: int | NDArray[Any],
    nodes: int,
    most: int | None = None,
) -> NDArray[np.int64]:
    """[N]: edges from the nearest of `sources` (numbers or a mask); FAR beyond `most`."""
    distance = np.full(nodes, FAR)
    distance[sources] = 0
    for hop in range(1, (nodes if most is None else most) + 1):
        reached = tails[distance[heads] == hop - 1]
        new = reached[distance[reached] == FAR]
        if not new.size:
            break
        distance[new] = hop
    return distance


def known_paths(paths: Sequence[Sequence[int]], edges: int) -> TaughtPaths:
    """Paths that are given, by their edge numbers; they may take an edge twice."""
    labels = np.zeros(edges, dtype=np.uint8)
    for path in paths:
        labels[list(path)] = 1
    return TaughtPaths(labels, sorted(map(list, paths), key=len))


def _first_path(
    start: int, answer: int, on_path: list[int], heads: NDArray[np.int64], tails: NDArray[np.int64]
) -> list[int]:
    """Back from the answer, over the first of the edges `on_path` that reach a node."""
    entering = {int(tails[edge]): edge for edge in reversed(on_path)}
    path: list[int] = []
    node = answer
    while node != start:
        path.append(entering[node])
        node = int(heads[path[-1]])
    return path[::-1]
