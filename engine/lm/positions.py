"""Positions in a sequence of tokens, and layers of a model, that a request names. All raise ValueError."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from engine.lm.protocol import Steer, Vector


def from_front(positions: Sequence[int], length: int) -> list[int]:
    """The positions counted from the front; negative inputs count from the end, as in Python."""
    for position in positions:
        if not -length <= position < length:
            raise ValueError(f"position {position} in a sequence of {length} tokens")
    return [position % length for position in positions]


def check_layers(layers: Iterable[int], count: int, what: str = "layer") -> None:
    """For a layer that a model of `count` layers does not have."""
    for layer in layers:
        if not 0 <= layer < count:
            raise ValueError(f"{what} {layer}, the model has layers 0 to {count - 1}")


def steering_vector(steer: Steer, layers: int, hidden_size: int) -> Vector:
    """The vector of `steer`, contiguous; for one that does not fit a model of `layers` layers of this size."""
    vector = np.ascontiguousarray(steer.vector, dtype=np.float32)
    if vector.shape != (hidden_size,):
        raise ValueError(f"steering vector of shape {vector.shape}, the model needs ({hidden_size},)")
    check_layers([steer.layer], layers, "steering layer")
    return vector
