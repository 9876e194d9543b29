"""Distinct paths from P_F, sampled without replacement by stochastic beam search (Kool, van Hoof, Welling 2019).

With Gumbel noise on the log probability of every path, the `width` largest are a sample without replacement. The noise
is drawn from the root down: a prefix carries the largest noisy log probability of the paths that begin with it, and
its continuations are drawn on the condition that theirs are at most that large. So only prefixes of paths that can
still be among the `width` largest are looked at.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from engine.gflownet.sampler.actor import GFlowNetActor, Rollout, Sampling
from engine.gflownet.sampler.counter_noise import branched, gumbel
from engine.gflownet.sampler.embedder import Tokens
from engine.gflownet.sampler.environment import STOP, GraphState, Walks, no_walks
from engine.gflownet.sampler.graph_batch import GraphBatch
from engine.gflownet.sampler.segments import best_of_each


@dataclass(frozen=True)
class _Paths:
    """Prefixes or finished paths: log P_F, what they are kept by, and what decides the noise behind them, all [J]."""

    walks: Walks
    log_pf: torch.Tensor
    worth: torch.Tensor
    seeds: torch.Tensor

    def rows(self, rows: torch.Tensor) -> _Paths:
        return _Paths(self.walks.rows(rows), self.log_pf[rows], self.worth[rows], self.seeds[rows])

    def join(self, *others: _Paths) -> _Paths:
        paths = (self, *others)
        columns = (torch.cat([getattr(p, name) for p in paths]) for name in ("log_pf", "worth", "seeds"))
        return _Paths(Walks.join([p.walks for p in paths]), *columns)

    def best(self, size: int, width: int) -> torch.Tensor:
        """Rows of each graph's `width` worthiest."""
        return best_of_each(self.walks.graph, self.worth, size, width)


def distinct_paths(
    actor: GFlowNetActor,
    batch: GraphBatch,
    tokens: Tokens,
    width: int,
    sampling: Sampling,
    seeds: torch.Tensor,
) -> Rollout:
    """`width` distinct paths of every graph [B * width], of each graph the most probable first; `seeds` [B] (int64)
    decide every draw. Where a graph has fewer paths, empty ones stand behind them, `refused`, with log P_F minus
    infinity.
    """
    env, policy = actor.env, actor.policy
    keys, prior = policy.prepare(batch, tokens), actor.prior(batch, sampling)
    graph = torch.arange(batch.size, device=batch.heads.device)
    state, memory = env.reset(graph), policy.begin(tokens, graph)
    root = torch.zeros(batch.size, dtype=torch.float64, device=graph.device)
    live = _Paths(state.walks, root, root, seeds)
    finished = live.rows(graph[:0])
    while state.live.numel() and state.step < env.max_steps:
        frontier, log_p, stop = actor.log_probabilities(batch, keys, memory, prior, state, sampling)
        parent = torch.cat([frontier.owner, state.live])
        item = torch.cat([batch.edge_local[frontier.edge], torch.full_like(state.live, STOP)])
        children = _children(live, parent, torch.cat([log_p, stop]), item, state.step)
        pool = finished.join(children)
        kept = pool.best(batch.size, width)
        # A row of the pool is a finished path, then an edge of the frontier, then a STOP.
        child = kept - finished.log_pf.shape[0]
        moving = (child >= 0) & (child < frontier.edge.shape[0])
        live, finished = pool.rows(kept[moving]), pool.rows(kept[~moving])
        memory, edge = memory[frontier.owner[child[moving]]], frontier.edge[child[moving]]
        state = env.step(batch, GraphState.all_live(live.walks, state.step), edge)
        live = replace(live, walks=state.walks)
        if state.step < env.max_steps:
            memory = policy.advance(keys, memory, edge)
    walks = no_walks(env, batch, width)
    none = torch.full(walks.graph.shape, -torch.inf, dtype=torch.float64, device=graph.device)
    drawn = finished.join(live, _Paths(walks, none, none, torch.zeros_like(walks.graph)))
    drawn = drawn.rows(drawn.best(batch.size, width))
    drawn = drawn.rows(best_of_each(drawn.walks.graph, drawn.log_pf, batch.size, width))
    return Rollout(drawn.walks, drawn.log_pf.to(tokens.question.dtype), drawn.log_pf.isinf())


def _children(
    live: _Paths, parent: torch.Tensor, log_p: torch.Tensor, item: torch.Tensor, step: int
) -> _Paths:
    """The continuations of `live`, one for each of `parent` [C]; `item` names them among those of their parent."""
    paths = live.rows(parent)
    log_pf = paths.log_pf + log_p.double()
    noise = gumbel(paths.seeds, step, item)
    worth = _at_most(live.worth, log_pf + noise, parent)
    return _Paths(paths.walks, log_pf, worth, branched(paths.seeds, step, item))


def _at_most(limit: torch.Tensor, values: torch.Tensor, owner: torch.Tensor) -> torch.Tensor:
    """`values` [C] as if they had been drawn with `limit` [L] as the largest of each owner's: Gumbels conditioned on
    their maximum (Kool et al. 2019, appendix B)."""
    largest = torch.full_like(limit, -torch.inf).scatter_reduce(0, owner, values, "amax")[owner]
    limit = limit[owner]
    v = limit - values + torch.log1p(-(values - largest).exp())
    return limit - v.clamp(min=0) - torch.log1p((-v.abs()).exp())
