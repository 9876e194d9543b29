"""Rewards, residuals and figures once more, literally from the specification (4.2, 5, 9) in plain Python, on every walk
of small graphs: no line of `engine` computes what is expected."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
import torch

from engine.config.gflownet import RewardSection
from engine.gflownet.evaluation.metrics import question_figures
from engine.gflownet.sampler.environment import Walks
from engine.gflownet.sampler.reward import AnswerOnlyReward
from engine.gflownet.sampler.trajectory_balance import residual
from tests.engine.gflownet.small_graphs import SMALL_GRAPHS, SmallGraph, independent_walks, small_batch

STEPS = 3
GRAPHS = [graph for graph in SMALL_GRAPHS if graph.triples]


def nodes_of(graph: SmallGraph, walk: Sequence[int]) -> list[int]:
    return [graph.triples[walk[0]][0], *(graph.triples[edge][2] for edge in walk)] if walk else []


def as_walks(graph: SmallGraph, walks: Sequence[Sequence[int]]) -> Walks:
    place = {int(local): edge for edge, local in enumerate(small_batch([graph]).edge_local)}
    edges = [[*(place[edge] for edge in walk), *[-1] * (STEPS - len(walk))] for walk in walks]
    nodes = [
        [*there, *[-1] * (STEPS + 1 - len(there))] for there in (nodes_of(graph, walk) for walk in walks)
    ]
    return Walks(torch.zeros(len(walks), dtype=torch.long), torch.tensor(edges), torch.tensor(nodes))


def met(graph: SmallGraph, walk: Sequence[int]) -> set[int]:
    """Answers that an edge of the walk leads to, unless the walk began there."""
    there = nodes_of(graph, walk)
    return {
        node for place, node in enumerate(there) if place and node in graph.answers and node not in there[:1]
    }


def log_reward(graph: SmallGraph, walk: Sequence[int], success: float, failure: float, reach: float) -> float:
    """4.2: log r_succ or log r_fail, and lambda * reach_frac for a hit, less the largest there can be."""
    hits = met(graph, walk)
    raw = math.log(success) + reach * len(hits) / len(graph.answers) if hits else math.log(failure)
    return raw - (math.log(success) + max(0.0, reach))


@pytest.mark.parametrize("graph", GRAPHS, ids=lambda graph: graph.name)
@pytest.mark.parametrize("reach", [0.0, 0.7])
def test_rewards_of_every_walk(graph: SmallGraph, reach: float) -> None:
    walks = sorted(independent_walks(graph, STEPS))
    batch = small_batch([graph])
    section = RewardSection(success_reward=10.0, failure_reward=0.01, lambda_reach=reach)
    found = AnswerOnlyReward(section)(batch, as_walks(graph, walks), batch.edge_scores)
    wanted = [log_reward(graph, walk, 10.0, 0.01, reach) for walk in walks]
    assert found.log_reward.tolist() == pytest.approx(wanted)
    assert found.reward.tolist() == pytest.approx([math.exp(value) for value in wanted])
    assert found.success.tolist() == [bool(met(graph, walk)) for walk in walks]
    precision = [len(met(graph, walk)) / max(1, len(set(nodes_of(graph, walk)))) for walk in walks]
    recall = [len(met(graph, walk)) / len(graph.answers) for walk in walks]
    assert found.answer_precision.tolist() == pytest.approx(precision)
    assert found.answer_recall.tolist() == found.reach_frac.tolist() == pytest.approx(recall)
    harmonic = [2 * p * r / (p + r) if p + r else 0.0 for p, r in zip(precision, recall, strict=True)]
    assert found.answer_f1.tolist() == pytest.approx(harmonic)


def test_the_residual_is_zero_where_flow_balances() -> None:
    """5: Z P_F(x) = R(x) P_B(x). A sampler that draws x in proportion to R has Z = sum of R."""
    rewards = [1.0, 0.001, 0.5]
    z = sum(rewards)
    forward = torch.tensor([math.log(reward / z) for reward in rewards])
    log_r = torch.tensor([math.log(reward) for reward in rewards])
    backward = torch.tensor([math.log(1.0), math.log(0.5), math.log(0.25)])
    balanced = residual(torch.tensor(math.log(z)), forward + backward, backward, log_r)
    assert balanced.tolist() == pytest.approx([0.0] * 3, abs=1e-6)
    off = residual(torch.tensor(2.0), torch.tensor([3.0]), torch.tensor([5.0]), torch.tensor([7.0]))
    assert off.tolist() == [2.0 + 3.0 - 5.0 - 7.0]


@pytest.mark.parametrize("graph", GRAPHS, ids=lambda graph: graph.name)
def test_figures_over_the_trajectories_of_a_question(graph: SmallGraph) -> None:
    """9.2, of all walks in an order that begins with failures, each walk twice."""
    walks = sorted(independent_walks(graph, STEPS), key=lambda walk: (bool(met(graph, walk)), walk))
    walks = [walk for walk in walks for _ in range(2)]
    batch = small_batch([graph])
    rewarded = AnswerOnlyReward(RewardSection())(batch, as_walks(graph, walks), batch.edge_scores)
    ks = [1, 3, len(walks)]
    found = question_figures(batch, as_walks(graph, walks), rewarded, [1, 2], ks)
    for k in ks:
        first = walks[:k]
        union = set().union(*(met(graph, walk) for walk in first))
        assert found[f"success@{k}"].item() == float(any(met(graph, walk) for walk in first))
        assert found[f"answer_recall_union@{k}"].item() == pytest.approx(len(union) / len(graph.answers))
        assert found[f"unique_paths@{k}"].item() == len(set(first))
        assert found[f"unique_success_paths@{k}"].item() == len({walk for walk in first if met(graph, walk)})
    assert found["success_mean"].item() == pytest.approx(
        sum(bool(met(graph, walk)) for walk in walks) / len(walks)
    )
    for window in (1, 2):
        gold = set(graph.gt_path)
        shares = [
            len([edge for edge in walk[:window] if edge in gold]) / max(1, len(walk[:window]))
            for walk in walks
        ]
        assert found[f"path_hit_precision@{window}"].item() == pytest.approx(sum(shares) / len(shares))
