"""Paths without replacement, against the exact law of such samples on small graphs (float64)."""

from __future__ import annotations

import math
from itertools import permutations

import pytest
import torch

from engine.gflownet.sampler.actor import GFlowNetActor, Sampling
from engine.gflownet.sampler.counter_noise import branched
from engine.gflownet.sampler.distinct_paths import _children, _Paths, distinct_paths
from engine.gflownet.sampler.environment import STOP, GraphEnv, enumerate_walks
from engine.gflownet.sampler.graph_batch import concatenate
from tests.engine.gflownet.sampler.test_exactness import KINDS, Kind, networks
from tests.engine.gflownet.small_graphs import SMALL_GRAPHS, SmallGraph, small_batch, stored_paths

STEPS = 3
SAMPLING = Sampling(temperature=0.8, prior_alpha=0.5)
each_graph = pytest.mark.parametrize("graph", SMALL_GRAPHS, ids=lambda graph: graph.name)


def exact(actor: GFlowNetActor, graph: SmallGraph, embedder: torch.nn.Module) -> dict[tuple[int, ...], float]:
    """P_F of every path."""
    batch = small_batch([graph])
    walks = enumerate_walks(actor.env, batch, 0)
    log_pf = actor.score(batch, embedder(batch), walks.graph, walks.edges, SAMPLING).log_pf.exp()
    return dict(zip(stored_paths(batch, walks.edges), log_pf.tolist(), strict=True))


@each_graph
def test_all_paths_come_once_with_their_probability_when_there_is_room(graph: SmallGraph):
    """And the rest is filled up with refused paths."""
    embedder, policy, _ = networks("edge_frontier", 1)
    actor = GFlowNetActor(GraphEnv(STEPS), policy)
    expected = exact(actor, graph, embedder)
    batch = small_batch([SMALL_GRAPHS[2], graph])
    width = len(expected) + 2
    for seeds in (torch.tensor([5, 6]), torch.tensor([31, 0])):
        drawn = distinct_paths(actor, batch, embedder(batch), width, SAMPLING, seeds)
        mine = (drawn.walks.graph == 1) & ~drawn.refused
        assert drawn.refused[drawn.walks.graph == 1].tolist() == [False] * len(expected) + [True] * 2
        found = stored_paths(batch, drawn.walks.edges[mine])
        assert found[0] == max(expected, key=expected.__getitem__)
        assert dict(zip(found, drawn.log_pf[mine].exp().tolist(), strict=True)) == pytest.approx(expected)


def test_sets_follow_the_law_of_sampling_without_replacement():
    """P({a, b}) is the sum over both orders of p_1 * p_2 / (1 - p_1)."""
    embedder, policy, _ = networks("edge_frontier", 2)
    actor = GFlowNetActor(GraphEnv(STEPS), policy)
    graph, draws = SMALL_GRAPHS[3], 3000
    p = exact(actor, graph, embedder)
    batch = concatenate([small_batch([graph])] * draws)
    drawn = distinct_paths(actor, batch, embedder(batch), 2, SAMPLING, torch.arange(draws) * 7919)
    paths = stored_paths(batch, drawn.walks.edges)
    counts: dict[frozenset[tuple[int, ...]], int] = {}
    for draw in range(draws):
        pair = frozenset(paths[2 * draw : 2 * draw + 2])
        counts[pair] = counts.get(pair, 0) + 1
    law: dict[frozenset[tuple[int, ...]], float] = {}
    for one, other in permutations(p, 2):
        pair = frozenset((one, other))
        law[pair] = law.get(pair, 0.0) + p[one] * p[other] / (1 - p[one])
    assert sum(law.values()) == pytest.approx(1) and set(counts) <= set(law)
    distance = sum(abs(counts.get(pair, 0) / draws - share) for pair, share in law.items()) / 2
    # As in test_exactness: two deviations above the mean of such a distance.
    assert distance < math.sqrt(len(law) / (4 * draws)) + 2 / math.sqrt(draws)


@pytest.mark.parametrize("kind", KINDS)
def test_draws_do_not_depend_on_batching(kind: Kind):
    embedder, policy, _ = networks(kind, 4)
    actor = GFlowNetActor(GraphEnv(STEPS), policy)
    together = small_batch(SMALL_GRAPHS)
    seeds = torch.arange(len(SMALL_GRAPHS)) * 31
    drawn = distinct_paths(actor, together, embedder(together), 4, SAMPLING, seeds)
    for place, graph in enumerate(SMALL_GRAPHS):
        alone = small_batch([graph])
        again = distinct_paths(actor, alone, embedder(alone), 4, SAMPLING, seeds[place : place + 1])
        mine = drawn.walks.graph == place
        assert stored_paths(alone, again.walks.edges) == stored_paths(together, drawn.walks.edges[mine])
        torch.testing.assert_close(again.log_pf, drawn.log_pf[mine])


def test_continuations_have_seeds_of_their_own_and_the_best_is_worth_what_their_path_was():
    batch = small_batch([SMALL_GRAPHS[1]])
    root = torch.zeros(1, dtype=torch.float64)
    live = _Paths(GraphEnv(STEPS).reset(torch.tensor([0])).walks, root - 1, root - 3, torch.tensor([7]))
    item = torch.tensor([0, 3, STOP])
    children = _children(live, torch.tensor([0, 0, 0]), torch.tensor([-0.5, -2.0, -1.5]), item, 1)
    assert batch.size == 1 and children.log_pf.tolist() == [-1.5, -3.0, -2.5]
    assert children.seeds.tolist() == branched(torch.tensor([7, 7, 7]), 1, item).tolist()
    assert len(set(children.seeds.tolist())) == 3
    assert children.worth.max() == -3 and len(set(children.worth.tolist())) == 3
