"""The baseline: beam search for paths whose edges the retriever scores highest."""

from __future__ import annotations

import torch

from engine.gflownet.sampler.environment import STOP, GraphEnv, GraphState, Walks
from engine.gflownet.sampler.graph_batch import GraphBatch


def beam_search(env: GraphEnv, batch: GraphBatch, width: int, per_edge: bool) -> tuple[Walks, torch.Tensor]:
    """The `width` best paths of every graph, of any length from a single edge on, best first.

    A path is worth the sum of its edges' log scores, or with `per_edge` their mean. Returns walks [B * width] (a
    graph with fewer paths is filled up with empty walks) and their worth (minus infinity there).
    """
    state = env.reset(torch.arange(batch.size, device=batch.heads.device))
    worth = batch.edge_scores.new_zeros(batch.size)
    log_score = batch.edge_scores.clamp(min=1e-12).log()
    finished, values = [_empty(env, batch, width)], [worth.new_full((batch.size * width,), -torch.inf)]
    while state.live.numel() and state.step < env.max_steps:
        frontier = env.frontier(batch, state)
        row = state.live[frontier.owner]
        worth = worth[row] + log_score[frontier.edge]
        branches = torch.arange(row.shape[0], device=row.device)
        state = GraphState(state.walks.rows(row), branches, state.step)
        grown = env.step(batch, state, frontier.edge).walks
        kept = _best(grown.graph, worth, batch.size, width)
        grown, worth = grown.rows(kept), worth[kept]
        finished.append(grown)
        values.append(worth / (state.step + 1) if per_edge else worth)
        state = GraphState(grown, torch.arange(kept.shape[0], device=row.device), state.step + 1)
    walks = Walks.join(finished)
    value = torch.cat(values)
    kept = _best(walks.graph, value, batch.size, width)
    return walks.rows(kept), value[kept]


def _best(graph: torch.Tensor, worth: torch.Tensor, size: int, width: int) -> torch.Tensor:
    """Rows of each graph's `width` largest, by graph and falling worth; ties keep their order."""
    order = torch.argsort(worth, descending=True, stable=True)
    order = order[torch.argsort(graph[order], stable=True)]
    counts = torch.bincount(graph, minlength=size)
    first = (counts.cumsum(0) - counts)[graph[order]]
    place = torch.arange(order.shape[0], device=order.device) - first
    return order[place < width]


def _empty(env: GraphEnv, batch: GraphBatch, width: int) -> Walks:
    graph = torch.arange(batch.size, device=batch.heads.device).repeat_interleave(width)
    edges = graph.new_full((graph.shape[0], env.max_steps), STOP)
    return Walks(graph, edges, graph.new_full((graph.shape[0], env.max_steps + 1), -1))
