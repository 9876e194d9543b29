"""The possible walks (spec GFlowNet 2): from a start along directed edges, STOP at any time.

All trajectories of a batch take their steps together. Nothing here is as large as a graph: a state holds the
walked nodes and edges, a frontier the edges that may come next. With `forbid_revisit` a walk is a simple path and
so is identified by its edges: the states form a tree, and the backward policy is 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from engine.gflownet.sampler.graph_batch import GraphBatch
from engine.gflownet.sampler.segments import expand

STOP = -1


@dataclass(frozen=True)
class Walks:
    """J trajectories of at most T edges: what is left when all have stopped.

    `nodes[:, 0]` is the head of the first edge; -1 stands behind the end, and everywhere where the first action
    was STOP.
    """

    graph: torch.Tensor  # [J]
    edges: torch.Tensor  # [J, T]
    nodes: torch.Tensor  # [J, T + 1]

    @property
    def length(self) -> torch.Tensor:
        """[J]: edges walked."""
        return (self.edges >= 0).sum(1)

    def rows(self, rows: torch.Tensor) -> Walks:
        """The trajectories `rows`, numbers or a mask."""
        return Walks(self.graph[rows], self.edges[rows], self.nodes[rows])

    @classmethod
    def join(cls, walks: Sequence[Walks]) -> Walks:
        """Several sets of trajectories, one behind the other."""
        return cls(*(torch.cat([getattr(w, f) for w in walks]) for f in ("graph", "edges", "nodes")))


@dataclass(frozen=True)
class GraphState:
    """J trajectories after `step` actions; `live` are those that have not stopped."""

    walks: Walks
    live: torch.Tensor  # [L]
    step: int

    @classmethod
    def all_live(cls, walks: Walks, step: int) -> GraphState:
        """None of `walks` has stopped."""
        return cls(walks, torch.arange(walks.graph.shape[0], device=walks.graph.device), step)


@dataclass(frozen=True)
class Frontier:
    """Legal edges of the live trajectories. `owner` counts through `live`; sorted by owner."""

    owner: torch.Tensor  # [F]
    edge: torch.Tensor  # [F]


class GraphEnv:
    """Legal actions and their effect. `max_steps` is T_max: behind it STOP is forced, at probability 1."""

    def __init__(self, max_steps: int, forbid_revisit: bool = True, forbid_backtrack: bool = True) -> None:
        self.max_steps = max_steps
        self.forbid_revisit = forbid_revisit
        self.forbid_backtrack = forbid_backtrack

    def reset(self, graph: torch.Tensor) -> GraphState:
        """One trajectory for each entry of `graph` [J], before its first action."""
        count = graph.shape[0]
        edges = graph.new_full((count, self.max_steps), STOP)
        nodes = graph.new_full((count, self.max_steps + 1), -1)
        return GraphState.all_live(Walks(graph, edges, nodes), 0)

    def frontier(self, batch: GraphBatch, state: GraphState) -> Frontier:
        """The legal edges. STOP is legal too, always; at `max_steps` nothing else is."""
        if state.step >= self.max_steps:
            none = state.live.new_empty(0)
            return Frontier(none, none)
        if state.step == 0:
            owner, place = expand(batch.start_ptr, state.walks.graph[state.live])
            node = batch.starts[place]
        else:
            owner = torch.arange(state.live.shape[0], device=state.live.device)
            node = state.walks.nodes[state.live, state.step]
        within, edge = expand(batch.out_ptr, node)
        owner = owner[within]
        legal = self._legal(batch, state, owner, edge)
        return Frontier(owner[legal], edge[legal])

    def step(self, batch: GraphBatch, state: GraphState, chosen: torch.Tensor) -> GraphState:
        """Take `chosen` [L]: an edge of the frontier, or STOP. The given state is not changed."""
        moving = chosen != STOP
        live, edge, step = state.live[moving], chosen[moving], state.step
        edges, nodes = state.walks.edges.clone(), state.walks.nodes.clone()
        edges[live, step] = edge
        if step == 0:
            nodes[live, 0] = batch.heads[edge]
        nodes[live, step + 1] = batch.tails[edge]
        return GraphState(Walks(state.walks.graph, edges, nodes), live, step + 1)

    def branches(self, batch: GraphBatch, state: GraphState, frontier: Frontier) -> GraphState:
        """Every legal edge taken: a live trajectory for each entry of the frontier."""
        parents = state.walks.rows(state.live[frontier.owner])
        return self.step(batch, GraphState.all_live(parents, state.step), frontier.edge)

    def _legal(
        self, batch: GraphBatch, state: GraphState, owner: torch.Tensor, edge: torch.Tensor
    ) -> torch.Tensor:
        tail = batch.tails[edge]
        row = state.live[owner]
        step = state.step
        if self.forbid_revisit:
            walked = state.walks.nodes[row, : step + 1]
            return ((walked != tail[:, None]).all(1)) & (batch.heads[edge] != tail)
        if self.forbid_backtrack and step > 0:
            return state.walks.nodes[row, step - 1] != tail
        return torch.ones_like(edge, dtype=torch.bool)


def no_walks(env: GraphEnv, batch: GraphBatch, each: int) -> Walks:
    """`each` empty walks of every graph."""
    return env.reset(torch.arange(batch.size, device=batch.heads.device).repeat_interleave(each)).walks


def enumerate_walks(env: GraphEnv, batch: GraphBatch, graph: int, limit: int = 1_000_000) -> Walks:
    """Every trajectory of graph `graph`, enumerated by the environment itself. Raises ValueError above `limit`."""
    state = env.reset(torch.tensor([graph], device=batch.heads.device))
    finished = [state.walks]
    while state.live.numel():
        frontier = env.frontier(batch, state)
        if sum(walks.graph.shape[0] for walks in finished) + frontier.edge.shape[0] > limit:
            raise ValueError(f"more than {limit} trajectories")
        if not frontier.edge.numel():
            break
        state = env.branches(batch, state, frontier)
        finished.append(state.walks)
    return Walks.join(finished)
