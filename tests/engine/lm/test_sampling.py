"""The choice of a token from logits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch

from engine.lm import sampling
from engine.lm.sampling import (
    choose,
    greedy,
    logprobs_of,
    processed,
    sampled,
    seeds_array,
    top_logprobs,
    uniforms,
    within_nucleus,
)
from tests.exactly import exactly


@pytest.mark.parametrize("devices", [sampling._FIRST_OF_EQUALS, ()])
def test_ties_go_to_the_lowest_token(devices: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Also on a device whose argmax may return any of them."""
    assert sampling._FIRST_OF_EQUALS == ("cpu", "cuda")
    monkeypatch.setattr(sampling, "_FIRST_OF_EQUALS", devices)
    logits = torch.zeros(5, 1000)
    logits[0, [7, 500, 999]] = 3.0
    logits[1, [998, 999]] = 1.0
    logits[2, 999] = 1.0
    logits[3] -= 5.0
    assert greedy(logits).tolist() == [7, 998, 999, 0, 0]
    assert greedy(logits[:, :1]).tolist() == [0] * 5


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


def test_draws_are_those_of_the_published_generator() -> None:
    """SplitMix64 from state 0, as its authors' code prints it. A row's generator begins at its seed mixed once, so the
    seed that mixes to 0 is minus the constant that is added first."""
    published = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    seeds = seeds_array([-0x9E3779B97F4A7C15])
    found = uniforms(seeds, np.arange(3, dtype=np.uint64))
    assert found.tolist() == [(bits >> 11) * 2.0**-53 for bits in published]
    start, mask = published[0], 2**64 - 1  # where seed 0 begins: neither at 0 nor at a shift of another seed
    z = (start + 2 * 0x9E3779B97F4A7C15) & mask
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & mask
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & mask
    second = ((z ^ (z >> 31)) >> 11) * 2.0**-53
    assert uniforms(seeds_array([0]), np.array([1], dtype=np.uint64)).tolist() == [second]


def test_every_bit_of_a_seed_counts() -> None:
    seeds = [3, 3 + 2**8, 3 + 2**40, 3 + 2**63, -3, 2**64 + 3]
    assert seeds_array(seeds).tolist() == [3, 3 + 2**8, 3 + 2**40, 3 + 2**63, 2**64 - 3, 3]
    first = uniforms(seeds_array(seeds), np.array([0], dtype=np.uint64)).tolist()
    assert len(set(first)) == 5 and first[0] == first[-1]


def test_the_tail_of_a_large_vocabulary_is_reached() -> None:
    """A hundred thousand tokens share a ten-thousandth: in float32 none of them would ever be drawn."""
    tail = 100_000
    logits = torch.full((3, tail + 1), float(np.log(1e-9)))
    logits[:, 0] = 0.0
    draws = torch.from_numpy(
        np.array([(1 + place * 1e-9) / (1 + 1e-4) for place in (10_000.5, 50_000.5, 90_000.5)])
    )
    assert sampled(logits, torch.ones(3), draws).tolist() == [10_001, 50_001, 90_001]


def test_a_temperature_next_to_0_is_as_good_as_greedy() -> None:
    logits = torch.tensor([[3.0, 5.0, 4.0]] * 2)
    assert choose(logits, np.array([1e-320, 1e-9]), np.array([0.999, 0.0])).tolist() == [1, 1]


def test_a_token_without_probability_is_never_drawn() -> None:
    logits = torch.tensor([[-torch.inf, 0.0, -torch.inf, 0.0]] * 3)
    assert sampled(
        logits, torch.ones(3), torch.tensor([0.0, 0.5, 1 - 2.0**-53], dtype=torch.float64)
    ).tolist() == [1, 3, 3]


def test_the_likeliest_tokens_best_first() -> None:
    logits = torch.log(torch.tensor([[1.0, 5.0, 2.0, 2.0], [4.0, 1.0, 1.0, 2.0]]))
    first, second = top_logprobs(logits, 2)
    assert first[0][0] == 1 and first[1][0] in (2, 3) and [token for token, _ in second] == [0, 3]
    np.testing.assert_allclose([p for _, p in first], np.log([0.5, 0.2]), rtol=1e-6)
    np.testing.assert_allclose([p for _, p in second], np.log([0.5, 0.25]), rtol=1e-6)
    assert len(top_logprobs(logits, 9)[0]) == 4


def test_a_nucleus_by_hand() -> None:
    """Probabilities 0.1, 0.4, 0.2, 0.2, 0.1: what stands before a token decides whether it is in."""
    logits = torch.log(torch.tensor([[1.0, 4.0, 2.0, 2.0, 1.0]]))

    def within(top_p: float, temperature: float = 1.0) -> list[int]:
        kept = within_nucleus(logits, temperature, top_p)
        places = torch.isfinite(kept[0]).nonzero()[:, 0].tolist()
        assert kept[0, places].equal(logits[0, places]), "what stays is as it was"
        return places

    assert within(1e-9) == [1] and within(0.39) == [1]
    assert within(0.41) == [1, 2], "of equals the lower id comes first"
    assert within(0.59) == [1, 2] and within(0.61) == [1, 2, 3]
    assert within(0.81) == [0, 1, 2, 3] and within(0.91) == [0, 1, 2, 3, 4]
    # At temperature 1/2 they are squared: 1, 16, 4, 4, 1 of 26; the first has 0.615.
    assert within(0.6, 0.5) == [1] and within(0.63, 0.5) == [1, 2]
    assert within(0.99, 1e-12) == [1], "next to 0 it is greedy"
    two = within_nucleus(torch.cat([logits, logits.flip(-1)]), 1.0, 0.5)
    assert torch.isfinite(two).tolist() == [
        [False, True, True, False, False],
        [False, True, False, True, False],
    ]


@pytest.mark.parametrize("tokens", [4, 1024])
def test_a_nucleus_ends_with_the_token_that_makes_it_full(tokens: int) -> None:
    """Two of four tokens with a quarter each are half; of many that are equal the first stay; one stays always."""
    for top_p in (0.0, 0.25, 0.5, 0.75, 1.0):
        kept = torch.isfinite(within_nucleus(torch.zeros(1, tokens), 1.0, top_p))[0]
        assert kept.tolist() == [place < max(1, top_p * tokens) for place in range(tokens)]


def test_a_draw_at_the_very_end_is_the_last_token() -> None:
    """In float32, which is all that some devices have, a draw next to 1 is 1."""
    logits = torch.tensor([[0.0, 1.0, 2.0]])
    assert sampled(logits, torch.ones(1), torch.ones(1)).tolist() == [2]


def test_a_processor_keeps_the_shape_of_what_it_is_given() -> None:
    logits = torch.arange(6.0).reshape(2, 3)
    seen: list[object] = []

    def twice(written: Sequence[Sequence[int]], given: Any) -> torch.Tensor:
        seen.append(written)
        return 2 * given

    assert processed(twice, [[1], []], logits).equal(2 * logits) and seen == [[[1], []]]
    said = exactly("the logits processor must return a tensor of shape (2, 3)")
    for output in (logits[:1], logits[:, :2], logits.T, logits.numpy(), None):
        with pytest.raises(ValueError, match=said):
            processed(lambda written, given, output=output: output, [[], []], logits)
