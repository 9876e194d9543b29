"""The sampler's distribution, exactly, on graphs small enough to list every trajectory (float64)."""

from __future__ import annotations

import math
from typing import Literal, get_args

import pytest
import torch

from engine.config.gflownet import EstimatorSection, PolicySection, RewardSection
from engine.gflownet.sampler.actor import GFlowNetActor, Sampling
from engine.gflownet.sampler.embedder import GraphEmbedder, Tokens
from engine.gflownet.sampler.environment import GraphEnv, Walks, enumerate_walks
from engine.gflownet.sampler.estimator import GFlowNetEstimator
from engine.gflownet.sampler.graph_batch import GraphBatch
from engine.gflownet.sampler.policies.make import make_policy
from engine.gflownet.sampler.reward import AnswerOnlyReward
from engine.gflownet.sampler.trajectory_balance import residual
from tests.engine.gflownet.small_graphs import (
    SMALL_GRAPHS,
    WIDTH,
    SmallGraph,
    independent_walks,
    rewards,
    small_batch,
    stored_paths,
)
from tests.engine.gflownet.tabular_policy import TabularPolicy

STEPS = 3
HIDDEN = 16
Kind = Literal["edge_mlp_mixer", "edge_frontier", "edge_gat"]
Mode = Literal["exact", "uniform", "learned"]
KINDS = get_args(Kind)
MODES = get_args(Mode)
each_graph = pytest.mark.parametrize("graph", SMALL_GRAPHS, ids=lambda graph: graph.name)


def all_walks(batch: GraphBatch, env: GraphEnv) -> Walks:
    per_graph = [enumerate_walks(env, batch, graph) for graph in range(batch.size)]
    return Walks(
        *(torch.cat([getattr(walks, name) for walks in per_graph]) for name in ("graph", "edges", "nodes"))
    )


def networks(kind: Kind, seed: int = 0, mode: Mode = "exact", learn: bool = True):
    torch.manual_seed(seed)
    embedder = GraphEmbedder(WIDTH, HIDDEN).double()
    policy = make_policy(PolicySection(kind=kind, hidden=HIDDEN, heads=2), STEPS).double()
    estimator = GFlowNetEstimator(HIDDEN, EstimatorSection(log_pb_mode=mode, learn_pb=learn)).double()
    return embedder, policy, estimator


def randomise_backward(estimator: GFlowNetEstimator) -> None:
    for parameter in estimator.backward_head.parameters():
        torch.nn.init.normal_(parameter, std=0.7)


def log_pb_and_reward(batch: GraphBatch, walks: Walks, mode: Mode) -> tuple[torch.Tensor, torch.Tensor]:
    """log P_B (learned: frozen at random parameters) and log R of `walks`."""
    embedder, _, estimator = networks("edge_frontier", mode=mode, learn=False)
    randomise_backward(estimator)
    with torch.no_grad():
        log_pb = estimator.backward_policy(batch, embedder(batch), walks).log_pb
    return log_pb, AnswerOnlyReward(RewardSection())(batch, walks, batch.question_emb).log_reward


def closed_form(policy: TabularPolicy, walks: Walks, flow: torch.Tensor) -> torch.Tensor:
    """Set the policy to F(child) / F(state), F the sum of `flow` [states] below a state. Returns F of the roots."""
    total = flow.clone()
    for state in torch.argsort(walks.length, descending=True).tolist():
        children = policy.after[state]
        total[state] += total[children[children >= 0]].sum()
    with torch.no_grad():
        policy.stop.copy_(flow.log())
        policy.edge.copy_(total[policy.after.clamp(min=0)].log())
    return total[policy.root]


def no_tokens(batch: GraphBatch) -> Tokens:
    nothing = batch.question_emb
    return Tokens(nothing, nothing, nothing, nothing)


def tabular(batch: GraphBatch) -> tuple[GFlowNetActor, TabularPolicy, Walks]:
    env = GraphEnv(STEPS)
    walks = all_walks(batch, env)
    policy = TabularPolicy(batch, walks)
    return GFlowNetActor(env, policy), policy, walks


# Where a walk begins, no node is behind it yet that would forbid a self-loop.
LOOP = SmallGraph("self-loop at the start", ((0, 0, 0), (0, 0, 1), (1, 0, 1), (1, 1, 0)), (0,), (1,))


@pytest.mark.parametrize("graph", [*SMALL_GRAPHS, LOOP], ids=lambda graph: graph.name)
@pytest.mark.parametrize("revisit", [False, True], ids=["simple", "revisiting"])
@pytest.mark.parametrize("backtrack", [False, True], ids=["", "backtracking"])
def test_enumeration_is_that_of_an_independent_search(graph: SmallGraph, revisit: bool, backtrack: bool):
    env = GraphEnv(4, forbid_revisit=not revisit, forbid_backtrack=not backtrack)
    batch = small_batch([SMALL_GRAPHS[0], graph])
    found = stored_paths(batch, enumerate_walks(env, batch, 1).edges)
    assert len(found) == len(set(found))
    assert set(found) == independent_walks(graph, 4, revisit, backtrack)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_probabilities_of_all_trajectories_sum_to_one(kind: Kind, seed: int):
    batch = small_batch(SMALL_GRAPHS)
    embedder, policy, _ = networks(kind, seed)
    env = GraphEnv(STEPS)
    walks = all_walks(batch, env)
    scored = GFlowNetActor(env, policy).score(
        batch, embedder(batch), walks.graph, walks.edges, Sampling(temperature=0.7, prior_alpha=1.5)
    )
    assert not scored.refused.any()
    mass = torch.zeros(batch.size, dtype=torch.float64).index_add(0, walks.graph, scored.log_pf.exp())
    assert (mass - 1).abs().max() < 1e-10


@each_graph
def test_rewards_are_those_of_the_definition(graph: SmallGraph):
    batch = small_batch([graph])
    walks = enumerate_walks(GraphEnv(STEPS), batch, 0)
    out = AnswerOnlyReward(RewardSection())(batch, walks, batch.question_emb)
    expected = rewards(graph, independent_walks(graph, STEPS))
    for path, reward in zip(stored_paths(batch, walks.edges), out.reward.tolist(), strict=True):
        assert reward == pytest.approx(expected[path], rel=1e-12)


@pytest.mark.parametrize("mode", MODES)
def test_the_closed_form_flow_has_no_residual(mode: Mode):
    batch = small_batch(SMALL_GRAPHS)
    actor, policy, walks = tabular(batch)
    log_pb, log_reward = log_pb_and_reward(batch, walks, mode)
    z = closed_form(policy, walks, (log_pb + log_reward).exp())
    scored = actor.score(batch, no_tokens(batch), walks.graph, walks.edges, Sampling())
    delta = residual(z.log()[walks.graph], scored.log_pf, log_pb, log_reward)
    assert delta.abs().max() < 1e-9


@pytest.mark.parametrize("mode", MODES)
def test_tabular_training_reaches_the_closed_form(mode: Mode):
    batch = small_batch(SMALL_GRAPHS)
    actor, policy, walks = tabular(batch)
    log_pb, log_reward = log_pb_and_reward(batch, walks, mode)
    log_z = torch.nn.Parameter(torch.zeros(batch.size, dtype=torch.float64))
    optimizer = torch.optim.LBFGS(
        [log_z, policy.edge, policy.stop],
        lr=1.0,
        max_iter=3000,
        tolerance_grad=1e-13,
        tolerance_change=1e-18,
        history_size=50,
        line_search_fn="strong_wolfe",
    )

    def delta() -> torch.Tensor:
        scored = actor.score(batch, no_tokens(batch), walks.graph, walks.edges, Sampling())
        return residual(log_z[walks.graph], scored.log_pf, log_pb, log_reward)

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = (delta() ** 2).sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    weight = (log_pb + log_reward).exp()
    z = torch.zeros(batch.size, dtype=torch.float64).index_add(0, walks.graph, weight)
    assert delta().abs().max() < 1e-6
    assert (log_z - z.log()).abs().max() < 1e-6


@each_graph
def test_exact_mode_samples_in_proportion_to_reward(graph: SmallGraph):
    batch = small_batch([graph])
    actor, policy, walks = tabular(batch)
    log_pb, log_reward = log_pb_and_reward(batch, walks, "exact")
    closed_form(policy, walks, (log_pb + log_reward).exp())
    pi = actor.score(batch, no_tokens(batch), walks.graph, walks.edges, Sampling()).log_pf.exp()
    expected = rewards(graph, independent_walks(graph, STEPS))
    total = sum(expected.values())
    for path, share in zip(stored_paths(batch, walks.edges), pi.tolist(), strict=True):
        assert share == pytest.approx(expected[path] / total, rel=1e-9)


def test_uniform_mode_does_not_and_by_how_much():
    """Each path's share is off by the product of in-degrees on it; where all are 1, nothing is."""
    lost: dict[str, float] = {}
    for graph in SMALL_GRAPHS:
        batch = small_batch([graph])
        actor, policy, walks = tabular(batch)
        log_pb, log_reward = log_pb_and_reward(batch, walks, "uniform")
        closed_form(policy, walks, (log_pb + log_reward).exp())
        pi = actor.score(batch, no_tokens(batch), walks.graph, walks.edges, Sampling()).log_pf.exp().detach()
        in_degree = [sum(tail == node for _, _, tail in graph.triples) for node in range(graph.nodes)]
        worth = rewards(graph, independent_walks(graph, STEPS))
        paths = stored_paths(batch, walks.edges)
        weight = torch.tensor(
            [worth[path] / math.prod(in_degree[graph.triples[edge][2]] for edge in path) for path in paths],
            dtype=torch.float64,
        )
        torch.testing.assert_close(pi, weight / weight.sum(), rtol=1e-9, atol=1e-12)
        target = torch.tensor([worth[path] for path in paths], dtype=torch.float64)
        lost[graph.name] = float((pi - target / target.sum()).abs().sum() / 2)
    # hub: a quiet node and one with nine incoming edges both lead to the answer, and the quiet path is sampled nine
    # times as often. The other two have a shorter and a longer path to an answer.
    expected = {"hub": 0.4775, "two starts": 0.1670, "two answers": 0.1500}
    assert lost == pytest.approx(dict.fromkeys(lost, 0.0) | expected, abs=1e-3)


def test_learned_backward_policy_begins_as_the_uniform_one():
    batch = small_batch(SMALL_GRAPHS)
    walks = all_walks(batch, GraphEnv(STEPS))
    embedder, _, learned = networks("edge_frontier", mode="learned")
    _, _, uniform = networks("edge_frontier", mode="uniform")
    tokens = embedder(batch)
    ours = learned.backward_policy(batch, tokens, walks)
    torch.testing.assert_close(
        ours.log_pb, uniform.backward_policy(batch, tokens, walks).log_pb, rtol=0, atol=1e-12
    )


def test_learned_backward_policy_sums_to_one_over_the_edges_that_reach_a_node():
    batch = small_batch(SMALL_GRAPHS)
    embedder, _, estimator = networks("edge_frontier", mode="learned", learn=False)
    randomise_backward(estimator)
    edges = torch.arange(batch.heads.shape[0])[:, None]
    walks = Walks(batch.edge_graph, edges, torch.cat([batch.heads[:, None], batch.tails[:, None]], 1))
    share = estimator.backward_policy(batch, embedder(batch), walks).log_pb.exp()
    mass = torch.zeros(batch.in_degree.shape[0], dtype=torch.float64).index_add(0, batch.tails, share)
    torch.testing.assert_close(mass, (batch.in_degree > 0).double())


@pytest.mark.parametrize("kind", KINDS)
def test_log_pf_does_not_depend_on_batching_or_node_order(kind: Kind):
    env = GraphEnv(STEPS)
    embedder, policy, _ = networks(kind, 5)
    actor = GFlowNetActor(env, policy)

    def scores(batch: GraphBatch, graph: int) -> dict[tuple[int, ...], float]:
        walks = enumerate_walks(env, batch, graph)
        log_pf = actor.score(batch, embedder(batch), walks.graph, walks.edges, Sampling()).log_pf
        return dict(zip(stored_paths(batch, walks.edges), log_pf.tolist(), strict=True))

    orders = [
        torch.randperm(graph.nodes, generator=torch.Generator().manual_seed(3)).tolist()
        for graph in SMALL_GRAPHS
    ]
    together, turned = small_batch(SMALL_GRAPHS), small_batch(SMALL_GRAPHS, orders)
    for place, graph in enumerate(SMALL_GRAPHS):
        alone = scores(small_batch([graph]), 0)
        assert scores(together, place) == pytest.approx(alone, abs=1e-10)
        assert scores(turned, place) == pytest.approx(alone, abs=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_samples_do_not_depend_on_batching_and_follow_p_f(kind: Kind):
    env = GraphEnv(STEPS)
    embedder, policy, _ = networks(kind, 2)
    actor = GFlowNetActor(env, policy)
    draws = 4000
    seeds = torch.arange(draws) * 7919
    graph = SMALL_GRAPHS[2]
    alone, together = small_batch([graph]), small_batch([*SMALL_GRAPHS[:2], graph])
    first = actor.rollout(alone, embedder(alone), torch.zeros(draws, dtype=torch.long), seeds, Sampling())
    second = actor.rollout(together, embedder(together), torch.full((draws,), 2), seeds, Sampling())
    assert stored_paths(alone, first.walks.edges) == stored_paths(together, second.walks.edges)
    walks = enumerate_walks(env, alone, 0)
    expected = actor.score(alone, embedder(alone), walks.graph, walks.edges, Sampling()).log_pf.exp().detach()
    paths = stored_paths(alone, walks.edges)
    drawn = stored_paths(alone, first.walks.edges)
    frequency = torch.tensor([drawn.count(path) / draws for path in paths])
    # A total variation of n draws from k outcomes is below sqrt(k / 4n), within two of its deviations.
    assert float((frequency - expected).abs().sum() / 2) < math.sqrt(
        len(paths) / (4 * draws)
    ) + 2 / math.sqrt(draws)
