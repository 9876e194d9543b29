"""Which tokens count as ends and as numbers."""

import pytest

from engine.evolution.clusters.special_clusters import eos_tokens, is_number, number_tokens


@pytest.mark.parametrize(
    "text", [*"0123456789+-*/$%=.,", " 7", "12", " $", "$5", "1,000", "3.5%", "٣", "\n4 "]
)
def test_numbers(text: str) -> None:
    assert is_number(text)


@pytest.mark.parametrize(
    "text", ["", " ", "\n\n", "a1", "x", "---", "...", " ==", "²", "(5", "1st", "�", "½"]
)
def test_everything_else(text: str) -> None:
    """An empty text above all: padding rows would become numbers."""
    assert not is_number(text)


def test_ids() -> None:
    assert number_tokens(["a", "1", "", " +", "<eos>"]) == [1, 3]
    assert eos_tokens({7, 2, 90}, 10) == [2, 7], "an id beyond the logits has no row"
