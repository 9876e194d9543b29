"""The distance from R / sum R: of an exact sampler, of one that knows nothing, and where paths are too many."""

from __future__ import annotations

import pytest
import torch

from engine.config.gflownet import RewardSection
from engine.gflownet.evaluation import distance
from engine.gflownet.evaluation.distance import total_variation
from engine.gflownet.sampler.actor import Sampling
from engine.gflownet.sampler.reward import AnswerOnlyReward
from tests.engine.gflownet.sampler.test_exactness import closed_form, no_tokens, tabular
from tests.engine.gflownet.small_graphs import SMALL_GRAPHS, SmallGraph, small_batch

# Paths: none, 0, 01, 2; the answers make the last two worth 1, the others 0.001.
GRAPH = SmallGraph("by hand", ((0, 0, 1), (1, 1, 2), (0, 2, 3)), (0,), (2, 3))


def test_the_distance_by_hand_and_of_an_exact_sampler():
    batch = small_batch([GRAPH, *SMALL_GRAPHS])
    actor, policy, walks = tabular(batch)
    reward = AnswerOnlyReward(RewardSection())
    none = total_variation(actor, reward, batch, no_tokens(batch), Sampling())
    # Every action alike: 1/3 to stop at once, 1/3 edge 2; 1/6 each edge 0 alone and followed by edge 1.
    worth = (0.001, 0.001, 1.0, 1.0)
    law = (1 / 3, 1 / 6, 1 / 6, 1 / 3)
    by_hand = sum(abs(p - r / sum(worth)) for p, r in zip(law, worth, strict=True)) / 2
    assert none[0].item() == pytest.approx(by_hand)
    closed_form(policy, walks, reward(batch, walks, batch.question_emb).reward)
    exact = total_variation(actor, reward, batch, no_tokens(batch), Sampling())
    assert exact.shape == (batch.size,) and exact.abs().max().item() < 1e-9


def test_a_graph_of_too_many_paths_has_no_distance(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(distance, "MOST_PATHS", 4)
    batch = small_batch([GRAPH, SMALL_GRAPHS[2]])
    actor, _, _ = tabular(batch)
    found = total_variation(
        actor, AnswerOnlyReward(RewardSection()), batch, no_tokens(batch), Sampling(temperature=2.0)
    )
    assert torch.isnan(found).tolist() == [False, True]
