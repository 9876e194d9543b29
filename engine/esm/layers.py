"""The layers that a configuration names, or default ones."""

from __future__ import annotations

from collections.abc import Sequence

from engine.config.config import Config
from engine.errors import DataError
from engine.lm.protocol import ModelInfo


def candidate_layers(layers: Sequence[int], num_layers: int) -> tuple[int, ...]:
    """`offline_mine.candidate_layers`, or the top third of the model (spec ESM 3.5). Raises DataError for one that the
    model lacks."""
    if not layers:
        return tuple(range(num_layers - max(1, num_layers // 3), num_layers))
    return tuple(sorted({_existing(layer, num_layers, "offline_mine.candidate_layers") for layer in layers}))


def field_layer(config: Config, info: ModelInfo) -> int:
    """`eval.field.layer`, or the middle one of those that are mined. Raises DataError if the model lacks it."""
    mined = candidate_layers(config.offline_mine.candidate_layers, info.num_layers)
    layer = config.eval.field.layer
    return _existing(mined[len(mined) // 2] if layer is None else layer, info.num_layers, "eval.field.layer")


def contrast_layer(config: Config, info: ModelInfo) -> int:
    """`eval.contrast.layer`, or the middle one. Raises DataError if the model lacks it."""
    layer = config.eval.contrast.layer
    return _existing(info.num_layers // 2 if layer is None else layer, info.num_layers, "eval.contrast.layer")


def _existing(layer: int, num_layers: int, where: str) -> int:
    if layer >= num_layers:
        raise DataError(
            what=f"layer {layer} does not exist: the model has layers 0 to {num_layers - 1}",
            where=where,
            hint="choose among those",
        )
    return layer
