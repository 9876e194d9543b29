"""Positions that a request names, from either end of a text."""

from __future__ import annotations

import numpy as np
import pytest

from engine.lm.positions import check_layers, from_front, steering_vector
from engine.lm.protocol import Steer
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


def test_a_steering_vector_is_float32_in_one_piece() -> None:
    column = np.arange(6.0).reshape(3, 2)[:, 1]
    vector = steering_vector(Steer(column, 3, 2.0), 4, 3)  # type: ignore[arg-type]
    assert (vector.tolist(), vector.dtype, vector.flags.c_contiguous) == ([1.0, 3.0, 5.0], np.float32, True)
    said = "steering vector of shape (3, 1), the model needs (3,)"
    with pytest.raises(ValueError, match=exactly(said)):
        steering_vector(Steer(np.ones((3, 1), np.float32), 0, 1.0), 4, 3)
    for layer in (-1, 4):
        said = f"steering layer {layer}, the model has layers 0 to 3"
        with pytest.raises(ValueError, match=exactly(said)):
            steering_vector(Steer(np.ones(3, np.float32), layer, 1.0), 4, 3)
