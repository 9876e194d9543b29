"""Linear layers whose weights lie as the processor's kernel reads them.

In bfloat16 on a CPU the plain layer arranges its weights anew in every pass, which for a few rows takes longer than
the product. The sums are the same."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from engine.lm.loading.cpu_dtype import has_bfloat16


class PackedLinear(nn.Module):
    """A linear layer, for inference alone. It takes the place of `linear`, whose memory can then be let go."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        packed = torch.ops.mkldnn._reorder_linear_weight(linear.weight.detach(), None)
        self.weight = nn.Parameter(packed, requires_grad=False)
        self.bias = linear.bias

    def forward(self, inputs: Tensor) -> Tensor:
        return torch.ops.mkldnn._linear_pointwise(inputs, self.weight, self.bias, "none", [], "")


def pack_linear_layers(model: nn.Module) -> None:
    """Pack the linear layers of a model in bfloat16 on a processor that multiplies it, apart from output weights that
    are the input embedding too."""
    if not (has_bfloat16() and torch.backends.mkldnn.is_available()):
        return
    embeddings = {id(module.weight) for module in model.modules() if isinstance(module, nn.Embedding)}
    # Parents only: a list that held the layers would keep their memory until all are packed.
    for parent in [module for module in model.modules() if not isinstance(module, nn.Linear)]:
        for name, child in list(parent.named_children()):
            # Not a subclass: it may compute something else.
            if type(child) is nn.Linear and _fits(child.weight) and id(child.weight) not in embeddings:
                setattr(parent, name, PackedLinear(child))


def _fits(weight: Tensor) -> bool:
    return weight.dtype == torch.bfloat16 and weight.device.type == "cpu"
