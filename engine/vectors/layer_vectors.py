"""One vector a layer: what every tool's file holds, however it spells it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from engine.errors import DataError
from engine.lm.protocol import Vector


@dataclass(frozen=True)
class LayerVectors:
    """`vectors`: 0-based decoder layer -> (hidden_size,) float32, added to the output of that layer; `unplaced`: the
    vector of a file that does not name its layer. `notes`: plain text, kept where a format has room for it."""

    vectors: Mapping[int, Vector]
    unplaced: Vector | None = None
    notes: Mapping[str, str] = field(default_factory=dict)

    @property
    def layers(self) -> list[int]:
        """Those that are named, ascending."""
        return sorted(self.vectors)

    def numbered(self) -> list[tuple[int, Vector]]:
        """Layers ascending, with their vectors."""
        return [(layer, self.vectors[layer]) for layer in self.layers]


def as_vector(values: object, where: str) -> Vector:
    """`values` as float32 of one dimension; axes of length 1 are dropped. Raises DataError for another shape, NaN or
    infinity."""
    array = np.asarray(values, dtype=np.float32)
    if array.size == 0 or array.size != max(array.shape, default=0):
        raise DataError(
            what=f"a tensor has shape {array.shape}, not that of one vector",
            where=where,
            hint="save one vector a layer",
        )
    vector = array.reshape(-1)
    if not np.isfinite(vector).all():
        raise DataError(what="a vector holds NaN or infinity", where=where, hint="make the vectors again")
    return vector


def the_vector(
    vectors: LayerVectors,
    path: Path,
    layer: int | None,
    hidden_size: int,
    num_layers: int,
    field: str = "eval.vector.layer",
) -> tuple[int, Vector]:
    """The vector for `layer`, or the only one there is, with its layer. Raises DataError where the file has no such
    layer, or several and none is chosen, or the model has other layers or another hidden size.
    `field`: what says the layer."""
    there = ", ".join(map(str, vectors.layers))
    chosen = layer if layer is not None else vectors.layers[0] if len(vectors.layers) == 1 else None
    vector = vectors.unplaced if chosen is None else vectors.vectors.get(chosen, vectors.unplaced)
    hint = "take vectors that were made for this model"
    if layer is None and vectors.unplaced is not None:
        what, hint = (
            "the file does not say for which layer its vector is",
            f"say it with {field}, counted from 0",
        )
    elif chosen is None:
        what = f"the file has vectors for layers {there}; ESM adds one at a time"
        hint = f"choose one with {field}"
    elif vector is None:
        what = f"the file has no vector for layer {chosen}, only for {there}"
        hint = f"choose one of these with {field}, counted from 0"
    elif not 0 <= chosen < num_layers:
        what = f"layer {chosen} does not exist: the model has layers 0 to {num_layers - 1}"
    elif vector.shape != (hidden_size,):
        what = f"the vector has {len(vector)} numbers, the model's states have {hidden_size}"
    else:
        return chosen, vector
    raise DataError(what=what, where=str(path), hint=hint)
