"""Which tokens count as ends and as numbers."""

import pytest

from engine.evolution.clusters.special_clusters import Numbers, eos_tokens, is_number, number_tokens


@pytest.mark.parametrize("text", [*"0123456789+-*/$%=", " 7", "12", " $", "$5", "٣", " 4 "])
def test_numbers(text: str) -> None:
    assert is_number(text, "arithmetic") and is_number(text, "written")


@pytest.mark.parametrize("text", [".", ",", "1,000", "3.5%", "\n4 ", ".\n", "5\n\n", " ,"])
def test_what_numbers_are_written_with_is_a_number_by_name_only(text: str) -> None:
    assert is_number(text, "written") and not is_number(text, "arithmetic")


@pytest.mark.parametrize("numbers", ["arithmetic", "written"])
@pytest.mark.parametrize(
    "text", ["", " ", "\n\n", "a1", "x", "---", "...", " ==", "²", "(5", "1st", "�", "½"]
)
def test_everything_else(text: str, numbers: Numbers) -> None:
    """An empty text above all: padding rows would become numbers."""
    assert not is_number(text, numbers)


def test_ids() -> None:
    assert number_tokens(["a", "1", "", " +", "<eos>", "."], "arithmetic") == [1, 3]
    assert number_tokens(["a", "1", "", " +", "<eos>", "."], "written") == [1, 3, 5]
    assert eos_tokens({7, 2, 90}, 10) == [2, 7], "an id beyond the logits has no row"
