"""The choice of a token from logits."""

from __future__ import annotations

import numpy as np
import torch

from engine.lm.sampling import choose, greedy, logprobs_of, sampled, seeds_array, uniforms


def test_ties_go_to_the_lowest_token() -> None:
    logits = torch.zeros(4, 1000)
    logits[0, [7, 500, 999]] = 3.0
    logits[1, [998, 999]] = 1.0
    assert greedy(logits).tolist() == [7, 998, 0, 0]


def test_draws_depend_on_seed_and_count_alone() -> None:
    seeds = seeds_array([3, 4, -1, 2**63])
    counters = np.arange(5, dtype=np.uint64)
    table = uniforms(seeds[:, None], counters[None])
    assert table.shape == (4, 5)
    assert table[2, 3] == uniforms(seeds[2:3], counters[3:4])[0]
    assert ((table >= 0) & (table < 1)).all()


def test_draws_are_uniform_and_unrelated() -> None:
    table = uniforms(np.arange(300, dtype=np.uint64)[:, None], np.arange(300, dtype=np.uint64)[None])
    counts = np.histogram(table, bins=20, range=(0, 1))[0]
    expected = table.size / 20
    assert ((counts - expected) ** 2 / expected).sum() < 50  # chi-squared, 19 degrees: p about 1e-4
    assert abs(np.corrcoef(table[:-1].ravel(), table[1:].ravel())[0, 1]) < 0.02
    assert abs(np.corrcoef(table[:, :-1].ravel(), table[:, 1:].ravel())[0, 1]) < 0.02


def test_samples_follow_the_distribution_at_its_temperature() -> None:
    logits = torch.tensor([[1.0, 0.0, -torch.inf, 2.0]])
    draws = (np.arange(1000) + 0.5) / 1000
    for temperature in (0.5, 1.0, 3.0):
        rows = logits.expand(1000, -1)
        tokens = sampled(rows, torch.full((1000,), temperature), torch.from_numpy(draws))
        expected = torch.softmax(logits[0] / temperature, 0).numpy()
        found = np.bincount(tokens.numpy(), minlength=4) / 1000
        np.testing.assert_allclose(found, expected, atol=2e-3)
        assert found[2] == 0


def test_greedy_and_sampled_rows_in_one_batch() -> None:
    logits = torch.tensor([[0.0, 5.0, 0.0], [0.0, 0.0, 0.0]])
    assert choose(logits, np.array([0.0, 1.0]), np.array([0.999, 0.999])).tolist() == [1, 2]
    assert choose(logits, np.array([1e-3, 0.0]), np.array([0.0, 0.5])).tolist() == [1, 0]


def test_logprobs_are_nats_at_temperature_1() -> None:
    logits = torch.log(torch.tensor([[0.2, 0.8], [0.5, 0.5]])) + 3.0
    np.testing.assert_allclose(logprobs_of(logits, torch.tensor([0, 1])).exp(), [0.2, 0.5], rtol=1e-5)
