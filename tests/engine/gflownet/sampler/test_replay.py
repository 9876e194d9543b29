"""Learning from known paths leaves the sampler where trajectory balance alone takes it: P_F in proportion to R."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from engine.config.gflownet import EstimatorSection, GFlowNetSection, PolicySection
from engine.gflownet.evaluation.questions import ListedPaths
from engine.gflownet.sampler.actor import GFlowNetActor, Sampling
from engine.gflownet.sampler.environment import GraphEnv, Walks, enumerate_walks
from engine.gflownet.sampler.graph_batch import GraphBatch
from engine.gflownet.sampler.module import GFlowNetModule
from engine.gflownet.sampler.replay import Replay, drawn_paths, shortest_paths
from tests.engine.gflownet.sampler.test_exactness import closed_form, no_tokens
from tests.engine.gflownet.small_graphs import SMALL_GRAPHS, WIDTH, small_batch, stored_paths
from tests.engine.gflownet.tabular_policy import TabularPolicy

DRAWS = 5_000
PLACE = 2
"""The hub, as the third graph of a batch."""


def listed(walks: Walks, worth: torch.Tensor) -> ListedPaths:
    return ListedPaths(walks.edges, (worth / worth.sum()).cumsum(0).numpy())


def replayed(kind: str, batch: GraphBatch, own: ListedPaths) -> Replay:
    if kind == "reward":
        return drawn_paths(batch, PLACE, own.drawn((np.arange(DRAWS) + 0.5) / DRAWS))
    return shortest_paths(batch, [PLACE], kind == "likelihood")


@pytest.mark.parametrize(("kind", "moved"), [("reward", False), ("balance", False), ("likelihood", True)])
def test_the_exact_sampler_is_not_moved_but_by_the_likelihood_of_shortest_paths(kind: str, moved: bool):
    """At P_F = R / sum R the gradient of the replayed paths' loss is zero."""
    section = GFlowNetSection(policy=PolicySection(hidden=8), estimator=EstimatorSection(log_pb_mode="exact"))
    module = GFlowNetModule(WIDTH, section).double()
    batch, alone = small_batch(SMALL_GRAPHS[: PLACE + 1]), small_batch([SMALL_GRAPHS[PLACE]])
    env = GraphEnv(section.environment.max_steps)
    walks = Walks.join([enumerate_walks(env, batch, graph) for graph in range(batch.size)])
    policy = TabularPolicy(batch, walks)
    worth = module.reward(batch, walks, batch.question_emb).reward
    z = closed_form(policy, walks, worth)
    own = enumerate_walks(env, alone, 0)
    replay = replayed(kind, batch, listed(own, module.reward(alone, own, alone.question_emb).reward))
    actor = GFlowNetActor(env, policy)
    scored = actor.score(batch, no_tokens(batch), replay.graph, replay.edges, Sampling())
    losses = module._gt_losses(batch, no_tokens(batch), z.log(), scored, replay.likelihood)
    losses.mean().backward()
    assert policy.edge.grad is not None and policy.stop.grad is not None
    largest = float(max(policy.edge.grad.abs().max(), policy.stop.grad.abs().max()))
    assert largest > 0.1 if moved else largest < 1e-3


def test_paths_are_drawn_in_proportion_to_their_reward_and_count_in_the_batch():
    batch, alone = small_batch(SMALL_GRAPHS[: PLACE + 1]), small_batch([SMALL_GRAPHS[PLACE]])
    own = enumerate_walks(GraphEnv(3), alone, 0)
    worth = torch.linspace(0, 1, own.edges.shape[0], dtype=torch.float64)
    replay = replayed("reward", batch, listed(own, worth))
    counted: dict[tuple[int, ...], int] = {}
    for path in stored_paths(batch, replay.edges):
        counted[path] = counted.get(path, 0) + 1
    shares = dict(zip(stored_paths(alone, own.edges), (worth / worth.sum()).tolist(), strict=True))
    for path, share in shares.items():
        assert counted.get(path, 0) / DRAWS == pytest.approx(share, abs=2 / DRAWS)
    first = replay.edges[replay.edges >= 0]
    assert (batch.edge_graph[first] == PLACE).all()


def test_a_path_that_cannot_be_walked_has_probability_zero():
    """0 -> 1 -> 2 over either of two edges: an edge that does not follow, one after the STOP, and one too many."""
    batch = small_batch([SMALL_GRAPHS[0]])
    env = GraphEnv(2)
    actor = GFlowNetActor(env, TabularPolicy(batch, enumerate_walks(env, batch, 0)))
    paths = torch.tensor([[0, 3, -1], [3, -1, -1], [0, 1, -1], [-1, 0, -1], [1, 3, 3]])
    scored = actor.score(batch, no_tokens(batch), torch.zeros(5, dtype=torch.long), paths, Sampling())
    assert scored.refused.tolist() == [False, True, True, False, True]
    assert scored.log_pf[scored.refused].tolist() == [-torch.inf] * 3
    assert (scored.log_pf[~scored.refused] > -torch.inf).all()


def test_replays_that_are_joined_are_filled_up_with_no_edge():
    one = Replay(torch.tensor([0]), torch.tensor([[5]]), torch.tensor([True]))
    other = Replay(torch.tensor([2, 1]), torch.tensor([[1, 2, 3], [4, -1, -1]]), torch.tensor([False, False]))
    joined = Replay.join([one, other])
    assert joined.edges.tolist() == [[5, -1, -1], [1, 2, 3], [4, -1, -1]]
    assert (joined.graph.tolist(), joined.likelihood.tolist()) == ([0, 2, 1], [True, False, False])
