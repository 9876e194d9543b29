"""What is added to a layer's output, by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from engine.lm.protocol import Steer
from engine.lm.transformers.steering_hook import steering, steering_matrices


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_last_column_of_each_row_gets_its_vector_and_the_layer_keeps_its_own_tensor(
    dtype: torch.dtype,
) -> None:
    layers = nn.ModuleList([nn.Identity(), nn.Identity()])
    steers = [Steer(np.array([1, 2], np.float32), 1, 2.0), None, Steer(np.array([0, 1], np.float32), 1, -0.5)]
    hidden = torch.ones(3, 2, 2, dtype=dtype)
    with steering(layers, steering_matrices(steers, 2, 2)):
        plain, steered = layers[0](hidden), layers[1](hidden)
    assert plain is hidden and hidden.tolist() == [[[1, 1], [1, 1]]] * 3
    assert steered.dtype == dtype
    assert steered.tolist() == [[[1, 1], [3, 5]], [[1, 1], [1, 1]], [[1, 1], [1, 0.5]]]
    assert layers[1](hidden) is hidden, "no hook is left"
