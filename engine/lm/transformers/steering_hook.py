"""Add vectors to the residual stream at the last token of a pass (spec ESM 2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from engine.lm.decoder_layers import hidden_of, with_hidden
from engine.lm.positions import steering_vector
from engine.lm.protocol import Steer


def steering_matrices(steers: Sequence[Steer | None], layers: int, hidden_size: int) -> dict[int, Tensor]:
    """The matrix to add in each steered layer, a row a sequence: layer -> (rows, hidden_size), float32 on the CPU.

    Raises ValueError for a layer or a vector that does not fit the model."""
    matrices: dict[int, Tensor] = {}
    for row, steer in enumerate(steers):
        if steer is None:
            continue
        vector = steering_vector(steer, layers, hidden_size)
        if steer.layer not in matrices:
            matrices[steer.layer] = torch.zeros(len(steers), hidden_size)
        matrices[steer.layer][row] = torch.from_numpy(vector * np.float32(steer.scale))
    return matrices


@contextmanager
def steering(layers: nn.ModuleList, matrices: Mapping[int, Tensor]) -> Iterator[None]:
    """While open, every pass through layer l adds `matrices[l]` (rows, hidden_size) at the last column."""
    with ExitStack() as hooks:
        for layer, matrix in matrices.items():
            hooks.callback(layers[layer].register_forward_hook(_adder(matrix)).remove)
        yield


def _adder(matrix: Tensor) -> Any:
    def add(module: nn.Module, args: object, output: Any) -> Any:
        # A copy: in a fused implementation the model's own tensor may also be the next residual.
        hidden = hidden_of(output).clone()
        hidden[:, -1] += matrix.to(device=hidden.device, dtype=hidden.dtype)
        return with_hidden(output, hidden)

    return add
