"""Device batches."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from engine.lm.transformers.batching import MAX_TOKENS, similar_lengths
from engine.lm.transformers.network import pass_tokens


@given(st.lists(st.integers(1, 5000), max_size=60), st.integers(1, 20))
def test_every_row_once_in_groups_of_similar_length(lengths: list[int], max_rows: int) -> None:
    groups = list(similar_lengths(lengths, max_rows))
    assert sorted(index for group in groups for index in group) == list(range(len(lengths)))
    for group in groups:
        found = [lengths[index] for index in group]
        assert found == sorted(found)
        assert len(group) <= max_rows
        assert found[-1] <= 1.5 * found[0] + 8
        assert len(group) == 1 or len(group) * found[-1] <= MAX_TOKENS


def test_rows_of_equal_length_stay_in_order() -> None:
    assert list(similar_lengths([5, 3, 5, 3], 10)) == [[1, 3, 0, 2]]
    assert list(similar_lengths([5, 300, 5], 10)) == [[0, 2], [1]]


@pytest.mark.parametrize(
    ("device", "parameters", "tokens"),
    [
        ("cpu", 1_000_000, 16384),
        ("cpu", 500_000_000, 500),
        ("cpu", 7_000_000_000, 256),
        ("cuda", 7_000_000_000, 16384),
    ],
)
def test_a_pass_on_a_cpu_is_short_enough_for_a_pause(device: str, parameters: int, tokens: int) -> None:
    """250 billion tokens times parameters, and never fewer than 256 tokens."""
    assert pass_tokens(torch.device(device), parameters) == tokens
