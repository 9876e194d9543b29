"""GFlowNetActor: roll-outs of the forward policy P_F, and the probability of given trajectories (spec GFlowNet 3.1).

Sampled with exploration, scored without: `log_pf` is that of the clean policy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch

from engine.gflownet.sampler.counter_noise import gumbel
from engine.gflownet.sampler.embedder import Tokens
from engine.gflownet.sampler.environment import STOP, Frontier, GraphEnv, GraphState, Walks
from engine.gflownet.sampler.graph_batch import GraphBatch
from engine.gflownet.sampler.policies.policy import Policy
from engine.gflownet.sampler.segments import argmax_with_stop, log_softmax_with_stop

SMALLEST_SCORE = 1e-4
_REFUSED = -2


@dataclass(frozen=True)
class Rollout:
    """Finished trajectories with log P_F [J]; minus infinity where a given trajectory was illegal (`refused` [J])."""

    walks: Walks
    log_pf: torch.Tensor
    refused: torch.Tensor

    @property
    def accepted(self) -> Rollout:
        """Without those that were refused."""
        kept = ~self.refused
        return Rollout(self.walks.rows(kept), self.log_pf[kept], self.refused[kept])


@dataclass(frozen=True)
class Sampling:
    """How to draw. `greedy` takes the most probable action; `random_action_prob` is the share of uniform draws."""

    temperature: float = 1.0
    prior_alpha: float = 0.0
    random_action_prob: float = 0.0
    greedy: bool = False


class GFlowNetActor:
    """Walks `env` by `policy`. Trajectories of a batch share its tokens and keys: K roll-outs are B*K rows."""

    def __init__(self, env: GraphEnv, policy: Policy) -> None:
        self.env = env
        self.policy = policy

    def rollout(
        self,
        batch: GraphBatch,
        tokens: Tokens,
        graph: torch.Tensor,
        seeds: torch.Tensor,
        sampling: Sampling,
        keys: torch.Tensor | None = None,
    ) -> Rollout:
        """One trajectory for each entry of `graph` [J]; `seeds` [J] (int64) decide every draw of it."""

        def choose(state: GraphState, frontier: Frontier, log_p: torch.Tensor, stop: torch.Tensor):
            if sampling.greedy:
                return argmax_with_stop(log_p, frontier.owner, stop)
            log_p, stop = _explore(log_p, stop, frontier.owner, sampling.random_action_prob)
            seed = seeds[state.live]
            item = torch.cat([batch.edge_local[frontier.edge], torch.full_like(seed, STOP)])
            noise = gumbel(torch.cat([seed[frontier.owner], seed]), state.step, item).to(log_p)
            edges = log_p.shape[0]
            return argmax_with_stop(log_p + noise[:edges], frontier.owner, stop + noise[edges:])

        return self._walk(batch, tokens, graph, sampling, keys, choose)

    def score(
        self,
        batch: GraphBatch,
        tokens: Tokens,
        graph: torch.Tensor,
        edges: torch.Tensor,
        sampling: Sampling,
        keys: torch.Tensor | None = None,
    ) -> Rollout:
        """log P_F of given trajectories, `edges` [J, any] filled up with -1. Illegal ones are refused: an edge that
        may not follow, or more of them than T_max."""
        steps = self.env.max_steps
        target = torch.nn.functional.pad(edges[:, :steps], (0, max(0, steps - edges.shape[1])), value=STOP)

        def choose(state: GraphState, frontier: Frontier, log_p: torch.Tensor, stop: torch.Tensor):
            return _position(frontier, target[state.live, state.step])

        scored = self._walk(batch, tokens, graph, sampling, keys, choose)
        refused = scored.refused | (edges[:, steps:] >= 0).any(1)
        return replace(scored, log_pf=scored.log_pf.masked_fill(refused, -torch.inf), refused=refused)

    def prior(self, batch: GraphBatch, sampling: Sampling) -> torch.Tensor:
        """What the retriever's scores add to the logits [E]."""
        return sampling.prior_alpha * batch.edge_scores.clamp(min=SMALLEST_SCORE).log()

    def log_probabilities(
        self,
        batch: GraphBatch,
        keys: torch.Tensor,
        memory: torch.Tensor,
        prior: torch.Tensor,
        state: GraphState,
        sampling: Sampling,
    ) -> tuple[Frontier, torch.Tensor, torch.Tensor]:
        """What may follow `state`, and its log P_F: that of each edge [F], and that of STOP [L]."""
        frontier = self.env.frontier(batch, state)
        edge_logits, stop_logits = self.policy.logits(keys, memory, frontier, state.step)
        edge_logits = (edge_logits + prior[frontier.edge]) / sampling.temperature
        log_p, stop = log_softmax_with_stop(edge_logits, frontier.owner, stop_logits / sampling.temperature)
        return frontier, log_p, stop

    def _walk(
        self,
        batch: GraphBatch,
        tokens: Tokens,
        graph: torch.Tensor,
        sampling: Sampling,
        keys: torch.Tensor | None,
        choose: Callable[[GraphState, Frontier, torch.Tensor, torch.Tensor], torch.Tensor],
    ) -> Rollout:
        keys = self.policy.prepare(batch, tokens) if keys is None else keys
        prior = self.prior(batch, sampling)
        state = self.env.reset(graph)
        memory = self.policy.begin(tokens, graph)
        log_pf = tokens.question.new_zeros(graph.shape[0])
        refused = torch.zeros_like(graph, dtype=torch.bool)
        while state.live.numel() and state.step < self.env.max_steps:
            frontier, log_p, stop = self.log_probabilities(batch, keys, memory, prior, state, sampling)
            with torch.no_grad():
                chosen = choose(state, frontier, log_p.detach(), stop.detach())
            refused[state.live[chosen == _REFUSED]] = True
            moving = chosen >= 0
            taken = torch.where(moving, log_p[chosen.clamp(min=0)] if log_p.numel() else stop, stop)
            log_pf = log_pf.index_add(0, state.live, taken)
            edge = frontier.edge[chosen[moving]]
            action = torch.full_like(chosen, STOP)
            action[moving] = edge
            state = self.env.step(batch, state, action)
            if state.step < self.env.max_steps:
                memory = self.policy.advance(keys, memory[moving], edge)
        return Rollout(state.walks, log_pf, refused)


def _explore(
    log_p: torch.Tensor, stop: torch.Tensor, owner: torch.Tensor, share: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Mix with the uniform distribution over the legal actions."""
    if share == 0:
        return log_p, stop
    actions = 1 + torch.bincount(owner, minlength=stop.shape[0]).to(stop)
    even = share / actions
    return ((1 - share) * log_p.exp() + even[owner]).log(), ((1 - share) * stop.exp() + even).log()


def _position(frontier: Frontier, target: torch.Tensor) -> torch.Tensor:
    """Where in the frontier each target edge is: -1 for STOP, -2 where it is not legal."""
    matches = torch.nonzero(frontier.edge == target[frontier.owner])[:, 0]
    position = torch.where(target == STOP, STOP, _REFUSED)
    position[frontier.owner[matches]] = matches
    return position
