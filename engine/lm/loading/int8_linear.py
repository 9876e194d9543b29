"""Linear layers with weights of 8 bits, for inference on a CPU.

A weight is a whole number from -127 to 127 times its output's scale; an input is rounded likewise, with a scale for
each row, so that what a row gives does not depend on the rows beside it. The products are summed exactly."""

from __future__ import annotations

import warnings

import torch
from torch import Tensor, nn

from engine.errors import ModelError
from engine.lm.loading.mapped import mapped

STEPS = 127
_ZERO = 128
"""Inputs are stored from 0 to 255; this one is zero."""
_SMALLEST = 1e-30
"""A row of zeros needs a scale, too."""
_MAKE = "_make_per_channel_quantized_tensor"
_ROWS = 64
"""Outputs rounded at a time: their numbers in float32 stay in the processor's cache."""


def check_int8(device: torch.device) -> None:
    """Raise ModelError where 8-bit layers cannot run: off the CPU, and on a processor that would cut sums of products
    off (without AVX512-VNNI)."""
    if device.type != "cpu":
        raise ModelError(
            what=f"weights of 8 bits need the CPU, and the model runs on {device.type}",
            where="model.dtype",
            hint="set `model.device: cpu`, or a number type such as bfloat16",
        )
    if not has_int8():
        raise ModelError(
            what="this processor or build of torch cannot multiply 8-bit numbers (AVX512-VNNI, FBGEMM)",
            where="model.dtype",
            hint="set `model.dtype: auto`",
        )


def has_int8() -> bool:
    """Whether the processor sums 8-bit products exactly, and this torch has the kernel."""
    vnni = getattr(torch.cpu, "_is_vnni_supported", lambda: False)()
    return vnni and "fbgemm" in torch.backends.quantized.supported_engines and hasattr(torch, _MAKE)


class Int8Weights:
    """`weight` (outputs, inputs), rounded, in the kernel's own layout."""

    def __init__(self, weight: Tensor) -> None:
        numbers, scales = mapped(weight.shape, torch.int8), torch.empty(len(weight))
        for start in range(0, len(weight), _ROWS):
            rows = slice(start, start + _ROWS)
            piece = weight[rows].float()
            scales[rows] = piece.abs().amax(1).div_(STEPS).clamp_(min=_SMALLEST)
            numbers[rows] = (piece / scales[rows, None]).round_()
        zeros = torch.zeros(len(weight), dtype=torch.long)
        with warnings.catch_warnings(action="ignore"):  # a later torch may lack the type: see `has_int8`
            rounded = getattr(torch, _MAKE)(numbers, scales.double(), zeros, 0)
        self.packed = torch.ops.quantized.linear_prepack(rounded, None)


class Int8Linear(nn.Module):
    """A linear layer of 8-bit weights and a bias (outputs,) or None; `count`: weights that are no other module's."""

    def __init__(self, weights: Int8Weights, bias: Tensor | None, count: int) -> None:
        super().__init__()
        self.count = count
        self.weights = weights
        self.bias = bias

    def forward(self, inputs: Tensor) -> Tensor:
        rows = inputs.float()
        scales = rows.abs().amax(-1, keepdim=True).div_(STEPS).clamp_(min=_SMALLEST)
        # The kernel rounds what it is given to whole numbers: the rows' own scales are put back behind it.
        multiply = torch.ops.quantized.linear_with_input_q_dq_qweight_dq_output_fp32
        outputs = multiply(rows / scales, 1.0, _ZERO, self.weights.packed).mul_(scales)
        if self.bias is not None:
            outputs += self.bias
        return outputs.to(inputs.dtype)


def round_linear_layers(model: nn.Module, weights: dict[str, Int8Weights]) -> None:
    """Put 8-bit layers in the place of all plain linear ones; `weights` has those that are rounded already, by the name
    of the parameter."""
    embeddings = {id(module.weight) for module in model.modules() if isinstance(module, nn.Embedding)}
    # Parents only: a list that held the layers would keep their memory until all are rounded.
    for path, parent in [(path, part) for path, part in model.named_modules() if type(part) is not nn.Linear]:
        for name, child in list(parent.named_children()):
            # Not a subclass: it may compute something else.
            if type(child) is nn.Linear:
                weight = f"{path}.{name}.weight".removeprefix(".")
                rounded = weights.pop(weight, None) or Int8Weights(child.weight.detach())
                count = 0 if id(child.weight) in embeddings else child.weight.numel()
                setattr(parent, name, Int8Linear(rounded, child.bias, count))


def parameter_total(model: nn.Module) -> int:
    """Parameters of a model, those of its 8-bit layers included."""
    rounded = sum(module.count for module in model.modules() if isinstance(module, Int8Linear))
    return rounded + sum(parameter.numel() for parameter in model.parameters())
