"""Packed linear layers: the same numbers as the plain ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from engine.lm.loading.cpu_dtype import has_bfloat16
from engine.lm.protocol import Request, Sampling
from engine.lm.transformers import network, packed_linear
from engine.lm.transformers.model import TransformersModel
from engine.lm.transformers.packed_linear import PackedLinear, pack_linear_layers

bfloat16_processor = pytest.mark.skipif(not has_bfloat16(), reason="this processor has no bfloat16")


class _Doubled(nn.Linear):
    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return 2 * super().forward(input)


def _model(dtype: torch.dtype) -> nn.ModuleDict:
    model = nn.ModuleDict(
        {"embed": nn.Embedding(5, 8), "up": nn.Linear(8, 6), "head": nn.Linear(8, 5, bias=False), "own": _Doubled(8, 2)}
    ).to(dtype)  # fmt: skip
    model["head"].weight = model["embed"].weight
    return model


@bfloat16_processor
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("rows", [1, 2, 16, 33])
def test_a_packed_layer_gives_the_same_bits(rows: int, bias: bool) -> None:
    torch.manual_seed(rows)
    plain = nn.Linear(48, 80, bias=bias).bfloat16()
    inputs = torch.randn(rows, 3, 48).bfloat16()
    with torch.inference_mode():
        assert torch.equal(PackedLinear(plain)(inputs), plain(inputs))
        # A column of a longer tensor, as a hook may leave it.
        assert torch.equal(PackedLinear(plain)(inputs[:, -1]), plain(inputs[:, -1]))


@bfloat16_processor
def test_only_plain_layers_of_their_own_are_packed() -> None:
    model = _model(torch.bfloat16)
    pack_linear_layers(model)
    kinds = {name: type(module) for name, module in model.items()}
    assert kinds == {"embed": nn.Embedding, "up": PackedLinear, "head": nn.Linear, "own": _Doubled}
    assert sum(weights.numel() for weights in model.parameters()) == 5 * 8 + (8 * 6 + 6) + (8 * 2 + 2)


def test_other_number_types_and_processors_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    for has, model in (
        (True, _model(torch.float32)),
        (True, _model(torch.bfloat16).to("meta")),
        (False, _model(torch.bfloat16)),
    ):
        monkeypatch.setattr(packed_linear, "has_bfloat16", lambda has=has: has)
        pack_linear_layers(model)
        assert type(model["up"]) is nn.Linear


@bfloat16_processor
@pytest.mark.parametrize("architecture", ["qwen2", "llama_tied", "gemma2"])
def test_a_packed_model_writes_the_same(
    folder: Callable[[str], Path], architecture: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def texts() -> tuple[list[list[int]], list[list[float]]]:
        model = TransformersModel.load(str(folder(architecture)), device="cpu", dtype="bfloat16")
        done = model.generate([Request([3, 4, 5 + row], Sampling(6)) for row in range(3)])
        return [completion.tokens for completion in done], [completion.logprobs for completion in done]

    tokens, logprobs = texts()
    monkeypatch.setattr(network, "pack_linear_layers", lambda model: None)
    plain_tokens, plain_logprobs = texts()
    assert tokens == plain_tokens
    # In so small a model the plain layer takes another kernel, which adds in another order.
    np.testing.assert_allclose(logprobs, plain_logprobs, atol=0.02)
