"""What a hook keeps of a pass."""

from __future__ import annotations

import torch
from torch import nn

from engine.lm.transformers.capture_hook import capturing, last_column


def test_what_is_captured_is_small_and_its_own() -> None:
    """Neither what is added to the stream later nor the next pass changes it, and it holds no whole batch in memory."""
    layers = nn.ModuleList([nn.Identity(), nn.Identity()])
    stream = torch.arange(12.0).reshape(2, 3, 2)
    with capturing(layers, [1, 1], last_column) as captured:
        layers[1](stream)
    stream += 100
    layers[1](stream)
    assert list(captured) == [1] and captured[1].tolist() == [[4.0, 5.0], [10.0, 11.0]]
    assert captured[1].untyped_storage().nbytes() == 4 * 4
