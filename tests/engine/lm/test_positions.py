"""Positions that a request names, from either end of a text."""

from __future__ import annotations

import pytest

from engine.lm.positions import check_layers, from_front
from tests.exactly import exactly


def test_the_first_token_is_reached_from_either_end() -> None:
    assert from_front([0, 2, -1, -3], 3) == [0, 2, 2, 0]
    for position in (3, -4):
        with pytest.raises(ValueError, match=exactly(f"position {position} in a sequence of 3 tokens")):
            from_front([0, position], 3)


def test_layers_count_from_0() -> None:
    check_layers([0, 3], 4)
    for layer in (-1, 4):
        with pytest.raises(ValueError, match=exactly(f"layer {layer}, the model has layers 0 to 3")):
            check_layers([0, layer], 4)
