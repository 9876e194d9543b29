"""A part of the graph, and parts put together, are worth the whole: same walks, probabilities, figures."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
import torch

from engine.config.gflownet import EnvironmentSection, EstimatorSection, GFlowNetSection, PolicySection
from engine.gflownet.evaluation.metrics import question_figures
from engine.gflownet.sampler.actor import Sampling
from engine.gflownet.sampler.environment import enumerate_walks
from engine.gflownet.sampler.graph_batch import GraphBatch, concatenate
from engine.gflownet.sampler.module import GFlowNetModule
from engine.gflownet.sampler.replay import shortest_paths
from engine.gflownet.sampler.walkable import walkable
from tests.engine.gflownet.sampler.test_exactness import KINDS, Kind, Mode
from tests.engine.gflownet.small_graphs import SMALL_GRAPHS, WIDTH, small_batch, stored_paths


def module(kind: Kind, mode: Mode, steps: int) -> GFlowNetModule:
    torch.manual_seed(1)
    section = GFlowNetSection(
        policy=PolicySection(kind=kind, hidden=8, heads=2),
        estimator=EstimatorSection(log_pb_mode=mode),
        environment=EnvironmentSection(max_steps=steps),
    )
    made = GFlowNetModule(WIDTH, section).double()
    for parameter in made.estimator.backward_head.parameters():
        torch.nn.init.normal_(parameter)
    return made


def test_concatenated_graphs_are_the_batch_laid_out_at_once():
    whole = small_batch(SMALL_GRAPHS)
    joined = concatenate([small_batch([graph]) for graph in SMALL_GRAPHS])
    for field in fields(GraphBatch):
        if field.name not in ("relation_emb", "edge_relation"):
            assert torch.equal(getattr(joined, field.name), getattr(whole, field.name)), field.name
    assert torch.equal(joined.relation_emb[joined.edge_relation], whole.relation_emb[whole.edge_relation])


def test_an_edge_that_is_left_out_of_a_path_is_left_out_of_the_joined_one():
    """It stands as the number of edges, 4 of the first and 5 of the second: 9 of both."""
    one, other = (small_batch([graph]) for graph in SMALL_GRAPHS[:2])
    one = replace(one, gt_paths=torch.tensor([[4, 1]]))
    other = replace(other, gt_paths=torch.tensor([[2, 5, 0]]))
    assert concatenate([one, other]).gt_paths.tolist() == [[9, 1, -1], [6, 9, 4]]


def test_concatenated_graphs_keep_their_own_relations():
    one, other = (small_batch([graph]) for graph in SMALL_GRAPHS[:2])
    other = replace(other, relation_emb=other.relation_emb + 100)
    joined = concatenate([one, other])
    apart = [batch.relation_emb[batch.edge_relation] for batch in (one, other)]
    assert torch.equal(joined.relation_emb[joined.edge_relation], torch.cat(apart))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", ["uniform", "learned"])
@pytest.mark.parametrize("steps", [1, 2])
def test_the_walkable_part_gives_the_same_losses_and_figures(kind: Kind, mode: Mode, steps: int):
    whole = small_batch(SMALL_GRAPHS)
    part = walkable(whole, steps, module(kind, mode, steps).policy.look_ahead, backward=mode == "learned")
    assert part.heads.shape[0] < whole.heads.shape[0]
    seeds = torch.arange(whole.size * 6)
    results = []
    for batch in (whole, part):
        made = module(kind, mode, steps)
        losses = made.losses(
            batch, seeds, Sampling(prior_alpha=0.5), replay=shortest_paths(batch, range(whole.size), True)
        )
        losses.total.backward()
        gradient = torch.cat([p.grad.flatten() for p in made.parameters() if p.grad is not None])
        figures = question_figures(batch, losses.rollout.walks, losses.reward, [1, 3], [1, 5])
        results.append((losses, gradient, figures, stored_paths(batch, losses.rollout.walks.edges)))
    (one, gradient, figures, paths), (other, other_gradient, other_figures, other_paths) = results
    assert paths == other_paths
    assert one.refused == other.refused > 0
    torch.testing.assert_close(one.residual, other.residual, rtol=0, atol=1e-10)
    torch.testing.assert_close(gradient, other_gradient, rtol=0, atol=1e-9)
    torch.testing.assert_close(figures, other_figures, rtol=0, atol=1e-12)


def test_the_walkable_part_has_every_walk():
    whole = small_batch(SMALL_GRAPHS)
    for steps in (1, 2, 3):
        env = module("edge_frontier", "exact", steps).env
        part = walkable(whole, steps)
        for graph in range(whole.size):
            mine, theirs = (enumerate_walks(env, batch, graph) for batch in (part, whole))
            assert set(stored_paths(part, mine.edges)) == set(stored_paths(whole, theirs.edges))
