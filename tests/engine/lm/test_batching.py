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
    ("lengths", "max_rows", "max_tokens", "groups"),
    [
        ([8, 20], 10, 1000, [[0, 1]]),  # half as long again and eight more
        ([8, 21], 10, 1000, [[0], [1]]),
        (
            [9, 21, 22],
            10,
            1000,
            [[0, 1], [2]],
        ),  # 21.5 for the first: what counts is the shortest of the group
        ([4] * 5, 2, 1000, [[0, 1], [2, 3], [4]]),
        ([10] * 3, 9, 30, [[0, 1, 2]]),
        ([10] * 3, 9, 29, [[0, 1], [2]]),
        ([10, 9, 8], 9, 27, [[2, 1], [0]]),  # padded to the longest of the group
        ([50, 60], 9, 20, [[0], [1]]),  # a text that is longer than a pass has one of its own
        ([], 9, 20, []),
    ],
)
def test_where_a_group_ends(
    lengths: list[int], max_rows: int, max_tokens: int, groups: list[list[int]]
) -> None:
    assert list(similar_lengths(lengths, max_rows, max_tokens)) == groups


@pytest.mark.parametrize(
    ("device", "parameters", "tokens"),
    [
        ("cpu", 1_000_000, 16384),
        ("cpu", 500_000_000, 500),
        ("cpu", 7_000_000_000, 256),
        ("cuda", 7_000_000_000, 16384),
        ("mps", 7_000_000_000, 16384),
    ],
)
def test_a_pass_on_a_cpu_is_short_enough_for_a_pause(device: str, parameters: int, tokens: int) -> None:
    """250 billion tokens times parameters, and never fewer than 256 tokens."""
    assert pass_tokens(torch.device(device), parameters) == tokens
