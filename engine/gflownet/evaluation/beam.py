"""The baseline: beam search for paths whose edges the retriever scores highest."""

from __future__ import annotations

import torch

from engine.gflownet.sampler.environment import GraphEnv, GraphState, Walks, no_walks
from engine.gflownet.sampler.graph_batch import GraphBatch
from engine.gflownet.sampler.segments import best_of_each


def beam_search(
    env: GraphEnv, batch: GraphBatch, width: int, edge_bonus: float = 0.0
) -> tuple[Walks, torch.Tensor]:
    """The `width` best paths of every graph, of any length from a single edge on, best first.

    A path is worth the sum of its edges' log scores plus `edge_bonus` for each edge: every log score is negative, so
    without a bonus no path is worth more than its own first edge. Returns walks [B * width] (a graph with fewer paths
    is filled up with empty walks) and their worth (minus infinity there).
    """
    state = env.reset(torch.arange(batch.size, device=batch.heads.device))
    worth = batch.edge_scores.new_zeros(batch.size)
    gain = batch.edge_scores.clamp(min=1e-12).log() + edge_bonus
    finished = [no_walks(env, batch, width)]
    values = [worth.new_full((batch.size * width,), -torch.inf)]
    while state.live.numel() and state.step < env.max_steps:
        frontier = env.frontier(batch, state)
        worth = worth[frontier.owner] + gain[frontier.edge]
        grown = env.branches(batch, state, frontier)
        kept = best_of_each(grown.walks.graph, worth, batch.size, width)
        state, worth = GraphState.all_live(grown.walks.rows(kept), grown.step), worth[kept]
        finished.append(state.walks)
        values.append(worth)
    walks = Walks.join(finished)
    value = torch.cat(values)
    kept = best_of_each(walks.graph, value, batch.size, width)
    return walks.rows(kept), value[kept]
