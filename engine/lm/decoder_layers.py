"""Find a causal model's decoder layers, under any architecture's names, and read their output."""

from __future__ import annotations

from torch import Tensor, nn


def decoder_layers(model: nn.Module, count: int) -> nn.ModuleList:
    """The list of decoder layers: the shallowest ModuleList of `count` members, else the longest of the
    shallowest (lists of experts lie deeper). Raises ValueError where there is none."""
    lists = [
        (name.count("."), -len(module), module)
        for name, module in model.named_modules()
        if isinstance(module, nn.ModuleList) and len(module)
    ]
    exact = [entry for entry in lists if -entry[1] == count]
    if not exact and not lists:
        raise ValueError("no list of decoder layers")
    return min(exact or lists, key=lambda entry: entry[:2])[2]


def hidden_of(output: Tensor | tuple[Tensor, ...]) -> Tensor:
    """The residual stream in a decoder layer's output: (rows, tokens, hidden_size)."""
    return output[0] if isinstance(output, tuple) else output


def with_hidden(output: Tensor | tuple[Tensor, ...], hidden: Tensor) -> Tensor | tuple[Tensor, ...]:
    """A decoder layer's output with `hidden` in place of its residual stream."""
    return (hidden, *output[1:]) if isinstance(output, tuple) else hidden
