"""The backward head's losses and the loss of a batch, by hand."""

from __future__ import annotations

import math

import pytest
import torch

from engine.config.gflownet import ActorSection, EstimatorSection, GFlowNetSection, PolicySection
from engine.gflownet.sampler.actor import Sampling
from engine.gflownet.sampler.environment import Walks
from engine.gflownet.sampler.module import GFlowNetModule, prior_alpha
from engine.gflownet.sampler.replay import shortest_paths
from tests.engine.gflownet.small_graphs import SMALL_GRAPHS, WIDTH, SmallGraph, small_batch

# Three edges reach node 1, one reaches node 2.
GRAPH = SmallGraph("fan", ((0, 0, 1), (0, 1, 1), (3, 0, 1), (1, 2, 2)), (0,), (2,), (0, 3))


def module(**estimator: object) -> GFlowNetModule:
    torch.manual_seed(0)
    section = GFlowNetSection(
        policy=PolicySection(hidden=8),
        estimator=EstimatorSection.model_validate({"log_pb_mode": "learned"} | estimator),
    )
    return GFlowNetModule(WIDTH, section).double()


def walks() -> Walks:
    """Two equal walks of two edges, and one that stopped at once."""
    edges = torch.tensor([[0, 2, -1], [0, 2, -1], [-1, -1, -1]])
    nodes = torch.tensor([[0, 1, 2, -1], [0, 1, 2, -1], [-1, -1, -1, -1]])
    return Walks(torch.zeros(3, dtype=torch.long), edges, nodes)


def test_losses_of_a_uniform_backward_head():
    batch = small_batch([GRAPH])
    assert batch.tails[walks().edges[0, :2]].tolist() == [1, 2]
    made = module(pb_entropy_coef=0.5, pb_l2_reg=0.1)
    found = made.estimator.backward_policy(batch, made.embedder(batch), walks())
    assert found.log_pb.tolist() == pytest.approx([-math.log(3), -math.log(3), 0.0])
    assert found.terms["pb_nll"].item() == pytest.approx(math.log(3)), "only walks with an edge count"
    entropy = (math.log(3) + 0.0) / 2  # of the two nodes, however often they are walked to
    assert found.avg_entropy.item() == pytest.approx(entropy)
    assert found.terms["pb_entropy"].item() == pytest.approx(-0.5 * entropy)
    squares = sum(float((p**2).sum()) for p in made.estimator.backward_head.parameters())
    assert found.terms["pb_l2"].item() == pytest.approx(0.1 * squares)


def test_a_backward_head_that_does_not_learn_has_no_losses_and_no_gradient():
    batch = small_batch([GRAPH])
    made = module(learn_pb=False)
    losses = made.losses(batch, torch.arange(8), Sampling())
    losses.total.backward()
    assert set(losses.terms) == {"tb_loss"}
    assert all(p.grad is None for p in made.estimator.backward_head.parameters())


@pytest.mark.parametrize(
    ("mode", "learn", "learns"),
    [
        ("learned", True, True),
        ("learned", False, False),
        ("exact", True, False),
        ("uniform", True, False),
        ("exact", False, False),
    ],
)
def test_the_backward_head_learns_where_it_is_the_policy_and_may(
    mode: str, learn: bool, learns: bool
) -> None:
    """Nothing else would give it a gradient."""
    estimator = module(log_pb_mode=mode, learn_pb=learn).estimator
    assert {parameter.requires_grad for parameter in estimator.backward_head.parameters()} == {learns}
    assert all(parameter.requires_grad for parameter in estimator.log_z_head.parameters())


def test_the_total_is_the_sum_of_its_terms_and_refused_paths_are_counted():
    batch = small_batch([*SMALL_GRAPHS[:2], GRAPH])
    made = module()
    made.env.max_steps = 1  # the taught paths are longer: refused
    losses = made.losses(batch, torch.arange(6), Sampling(), replay=shortest_paths(batch, [0, 1, 2], True))
    assert losses.refused == 3 and "gt_loss" not in losses.terms
    made.env.max_steps = 3
    losses = made.losses(batch, torch.arange(6), Sampling(), replay=shortest_paths(batch, [0, 1, 2], True))
    assert losses.refused == 0
    assert losses.terms["tb_loss"].item() == pytest.approx(float((losses.residual**2).mean()))
    assert losses.total.item() == pytest.approx(sum(term.item() for term in losses.terms.values()))


def test_each_known_path_that_is_not_refused_has_its_own_kind_of_loss():
    """The first of four is no walk. Of the others one is learned by its likelihood, two by trajectory balance."""
    batch = small_batch([GRAPH])
    made = module()
    tokens = made.embedder(batch)
    paths = torch.tensor([[3, -1], [0, 2], [0, -1], [1, 2]])
    scored = made.actor.score(batch, tokens, torch.zeros(4, dtype=torch.long), paths, Sampling())
    assert scored.refused.tolist() == [True, False, False, False]
    likelihood = torch.tensor([True, False, True, False])
    found = made._gt_losses(batch, tokens, made.log_z(tokens), scored, likelihood)
    by_balance = made._gt_losses(batch, tokens, made.log_z(tokens), scored, torch.zeros(4, dtype=torch.bool))
    expected = [by_balance[0].item(), -scored.accepted.log_pf[1].item(), by_balance[2].item()]
    assert found.tolist() == pytest.approx(expected) and by_balance[1].item() != pytest.approx(expected[1])


@pytest.mark.parametrize(("edges", "refused"), [([0], False), ([0, 2], True), ([1, 0], True), ([3], True)])
def test_a_path_is_refused_where_it_is_too_long_or_no_walk(edges: list[int], refused: bool):
    """Of one step; edge 0, too, is one too many."""
    batch = small_batch([GRAPH])
    made = module()
    made.env.max_steps = 1
    tokens = made.embedder(batch)
    path = torch.tensor([[*edges, *[-1] * (4 - len(edges))]])
    scored = made.actor.score(batch, tokens, torch.tensor([0]), path, Sampling())
    assert scored.refused.tolist() == [refused] and bool(scored.log_pf.isinf()) is refused


def test_the_loss_on_known_paths_has_its_weight():
    batch = small_batch([GRAPH])
    found = []
    for weight in (1.0, 16.0):
        torch.manual_seed(0)
        made = GFlowNetModule(
            WIDTH, GFlowNetSection(policy=PolicySection(hidden=8), gt_loss_weight=weight)
        ).double()
        losses = made.losses(batch, torch.arange(1), Sampling(), replay=shortest_paths(batch, [0], True))
        found.append(losses.terms["gt_loss"].item())
    assert found[0] > 0 and found[1] == pytest.approx(16 * found[0])


def test_the_prior_is_annealed_linearly_and_then_stays():
    section = GFlowNetSection(
        actor=ActorSection(
            retriever_prior_alpha_start=2.0, retriever_prior_alpha_end=0.5, retriever_prior_anneal_steps=100
        )
    )
    assert [prior_alpha(section, step) for step in (0, 50, 100, 1000)] == pytest.approx([2.0, 1.25, 0.5, 0.5])


def test_a_batch_without_edges_has_a_loss():
    """Every walk stops at once; nothing is NaN."""
    made = module()
    losses = made.losses(small_batch([SMALL_GRAPHS[-1]]), torch.arange(4), Sampling(prior_alpha=1.0))
    losses.total.backward()
    assert torch.isfinite(losses.total)
    assert all(torch.isfinite(p.grad).all() for p in made.parameters() if p.grad is not None)
