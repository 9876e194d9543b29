"""Linear layers with weights of 8 bits, for inference on a CPU.

A weight is a whole number from -127 to 127 times its output's scale; an input is rounded likewise, with a scale for
each row, so that what a row gives does not depend on the rows beside it. The products are summed exactly."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby

import torch
from torch import Tensor, nn

from engine.errors import ModelError
from engine.lm.loading.mapped import mapped

LOADING_THREADS = 2
"""Layers unpacked or rounded at a time: more would take more memory than they save time."""
STEPS = 127
_ZERO = 128
"""Inputs are stored from 0 to 255; this one is zero."""
_SMALLEST = 1e-30
"""A row of zeros needs a scale, too."""
_MAKE = "_make_per_channel_quantized_tensor"
_TOGETHER = {"q_proj": "qkv", "k_proj": "qkv", "v_proj": "qkv", "gate_proj": "gate_up", "up_proj": "gate_up"}
"""Layers beside each other that are mostly given the same input, by their usual names: one product is faster."""
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
    """`weight` (outputs, inputs), rounded: `numbers` of its shape, and the outputs' `scales`."""

    def __init__(self, weight: Tensor) -> None:
        self.numbers, self.scales = mapped(weight.shape, torch.int8), torch.empty(len(weight))
        for start in range(0, len(weight), _ROWS):
            rows = slice(start, start + _ROWS)
            piece = weight[rows].detach().float()
            self.scales[rows] = piece.abs().amax(1).div_(STEPS).clamp_(min=_SMALLEST)
            self.numbers[rows] = (piece / self.scales[rows, None]).round_()


class Int8Product:
    """One product for `layers` that are given the same input, each with a bias or each without."""

    def __init__(self, weights: list[Int8Weights], layers: Sequence[nn.Linear]) -> None:
        """Takes the numbers out of `weights`: of a large layer there is no room for three copies."""
        self._sizes = [layer.out_features for layer in layers]
        numbers = torch.cat([one.numbers for one in weights]) if len(weights) > 1 else weights[0].numbers
        scales = torch.cat([one.scales for one in weights]).double()
        weights.clear()
        with warnings.catch_warnings(action="ignore"):  # a later torch may lack the type: see `has_int8`
            rounded = getattr(torch, _MAKE)(numbers, scales, torch.zeros(len(scales), dtype=torch.long), 0)
        del numbers
        # In the kernel's own layout.
        self._packed = torch.ops.quantized.linear_prepack(rounded, None)
        self._bias = None if layers[0].bias is None else torch.cat([layer.bias.detach() for layer in layers])
        self._inputs: Tensor | None = None
        self._ready: dict[int, Tensor] = {}

    def output(self, number: int, inputs: Tensor) -> Tensor:
        """Of layer `number`. The others' wait, each to be taken once, until there is another input."""
        if inputs is not self._inputs or number not in self._ready:
            self._inputs, self._ready = inputs, dict(enumerate(self._multiply(inputs).split(self._sizes, -1)))
        output = self._ready.pop(number)
        if not self._ready:
            self._inputs = None
        return output

    def _multiply(self, inputs: Tensor) -> Tensor:
        rows = inputs.float()
        scales = rows.abs().amax(-1, keepdim=True).div_(STEPS).clamp_(min=_SMALLEST)
        # The kernel rounds what it is given to whole numbers: the rows' own scales are put back behind it.
        multiply = torch.ops.quantized.linear_with_input_q_dq_qweight_dq_output_fp32
        outputs = multiply(rows / scales, 1.0, _ZERO, self._packed).mul_(scales)
        if self._bias is not None:
            outputs += self._bias
        return outputs.to(inputs.dtype)


class Int8Linear(nn.Module):
    """A linear layer: number `number` of a product. `count`: its parameters that are no other module's."""

    def __init__(self, product: Int8Product, number: int, count: int) -> None:
        super().__init__()
        self.product, self.number, self.count = product, number, count

    def forward(self, inputs: Tensor) -> Tensor:
        return self.product.output(self.number, inputs)


def round_linear_layers(model: nn.Module, weights: dict[str, Int8Weights]) -> None:
    """Put 8-bit layers in the place of all plain linear ones; `weights` has those that are rounded already, by the name
    of the parameter."""
    embeddings = {id(module.weight) for module in model.modules() if isinstance(module, nn.Embedding)}

    def round_children(path: str, parent: nn.Module) -> None:
        # Not a subclass: it may compute something else.
        linear = [(name, child) for name, child in parent.named_children() if type(child) is nn.Linear]
        for _, together in groupby(linear, lambda one: (_TOGETHER.get(one[0], one[0]), one[1].bias is None)):
            layers = dict(together)
            rounded = [
                weights.pop(f"{path}.{name}.weight".removeprefix("."), None) or Int8Weights(child.weight)
                for name, child in layers.items()
            ]
            product = Int8Product(rounded, list(layers.values()))
            for number, (name, child) in enumerate(layers.items()):
                count = sum(part.numel() for part in child.parameters() if id(part) not in embeddings)
                setattr(parent, name, Int8Linear(product, number, count))

    # Parents only: a list that held the layers would keep their memory until all are rounded.
    parents = {path: part for path, part in model.named_modules() if type(part) is not nn.Linear}
    with ThreadPoolExecutor(LOADING_THREADS) as pool:
        list(pool.map(round_children, parents.keys(), parents.values()))


def parameter_total(model: nn.Module) -> int:
    """Parameters of a model, those of its 8-bit layers included."""
    rounded = sum(module.count for module in model.modules() if isinstance(module, Int8Linear))
    return rounded + sum(parameter.numel() for parameter in model.parameters())
