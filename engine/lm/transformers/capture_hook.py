"""Hooks that read the residual stream of layers while a pass runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from torch import Tensor, nn

from engine.lm.decoder_layers import hidden_of

Pick = Callable[[Tensor], Tensor]
"""(rows, tokens, hidden_size) -> the values to keep: only these stay in memory."""


def last_column(hidden: Tensor) -> Tensor:
    """The last token of every row: (rows, hidden_size)."""
    return hidden[:, -1]


@contextmanager
def capturing(
    layers: nn.ModuleList, captured_layers: Sequence[int], pick: Pick
) -> Iterator[dict[int, Tensor]]:
    """While open, each pass leaves `pick(residual stream)` of every wanted layer in the yielded mapping."""
    captured: dict[int, Tensor] = {}
    with ExitStack() as hooks:
        for layer in dict.fromkeys(captured_layers):
            hooks.callback(layers[layer].register_forward_hook(_keeper(captured, layer, pick)).remove)
        yield captured


def _keeper(captured: dict[int, Tensor], layer: int, pick: Pick) -> Any:
    def keep(module: nn.Module, args: object, output: Any) -> None:
        # Cloned: later in-place steering must not change it, and a view would keep the whole batch in memory.
        captured[layer] = pick(hidden_of(output)).clone()

    return keep
