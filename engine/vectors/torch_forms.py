"""`.pt` files of steering-vectors, EasySteer and lm-evaluation-harness's steered models.

- steering-vectors: `{"layer_activations": {N: tensor}, "layer_type": "decoder_block"}`, as its SteeringVector
  has them; N is the decoder block whose output is steered, from 0
- EasySteer: one tensor; the request names its decoder layer, from 0
- lm-evaluation-harness: `{"layers.N": {steering_vector, steering_coefficient, action, bias, head_index}}`; the
  key is the name of a module below the model's `base_model`, from 0

All hold tensors and plain values alone, and are read with `weights_only`: a pickled object is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from engine.errors import DataError, reading_errors
from engine.lm.protocol import Vector
from engine.torch_file import load_tensors
from engine.vectors.layer_vectors import LayerVectors, as_vector

_HOOKPOINT = re.compile(r"(?:.*\.)?(?:layers|h|blocks)\.(\d+)")


def read_torch(path: Path) -> LayerVectors:
    """Any of the three, recognised by what is in it. Raises DataError."""
    content = load_tensors(
        path,
        "the file is not tensors and plain values alone (pickled Python objects are refused, because loading them runs "
        "their code)",
        "save the tensors: a dictionary from layer to tensor, or a SteeringVector's fields "
        '{"layer_activations": …, "layer_type": "decoder_block"}',
    )
    if isinstance(content, torch.Tensor):
        return LayerVectors({}, unplaced=tensor_vector(content, str(path)))
    if isinstance(content, Mapping) and content:
        layers = content.get("layer_activations")
        if isinstance(layers, Mapping) and layers:
            return _steering_vectors(content, layers, path)
        if all(isinstance(v, Mapping) and v for v in content.values()):
            return LayerVectors(dict(_hooked(name, entry, path) for name, entry in content.items()))
        if all(isinstance(key, int) for key in content):
            return LayerVectors(
                {layer: tensor_vector(v, f"{path}: layer {layer}") for layer, v in content.items()}
            )
    raise DataError(
        what="the file has none of the forms of steering-vectors, EasySteer or lm-evaluation-harness",
        where=str(path),
        hint="save one of them, or a dictionary from layer to tensor",
    )


def _steering_vectors(content: Mapping[str, Any], layers: Mapping[Any, Any], path: Path) -> LayerVectors:
    if (kind := content.get("layer_type", "decoder_block")) != "decoder_block":
        raise DataError(
            what=f"the vectors are for layer type `{kind}`",
            where=str(path),
            hint="take vectors for `decoder_block`: ESM steers the output of whole layers",
        )
    with reading_errors(path, "a layer has no number", "number them from 0", TypeError, ValueError):
        numbered = {int(layer): v for layer, v in layers.items()}
    return LayerVectors({n: tensor_vector(v, f"{path}: layer {n}") for n, v in numbered.items()})


def _hooked(name: object, entry: Mapping[str, Any], path: Path) -> tuple[int, Any]:
    where = f"{path}: {name}"
    if (match := _HOOKPOINT.fullmatch(str(name))) is None:
        raise DataError(
            what="this hookpoint is not a whole decoder layer",
            where=where,
            hint="hook `layers.N`, counted from 0",
        )
    if entry.get("action") != "add" or entry.get("bias") is not None or entry.get("head_index") is not None:
        raise DataError(
            what="only the action `add`, without bias and head_index, is a steering vector",
            where=where,
            hint="save it as such",
        )
    with reading_errors(path, f"{name}: no coefficient", "save it as a number", TypeError, ValueError):
        coefficient = float(entry.get("steering_coefficient", 1.0))
    return int(match[1]), as_vector(tensor_vector(entry.get("steering_vector"), where) * coefficient, where)


def tensor_vector(value: object, where: str) -> Vector:
    """A tensor as a vector. Raises DataError where it has another shape or type."""
    if not isinstance(value, torch.Tensor):
        raise DataError(
            what=f"expected a tensor, found {type(value).__name__}", where=where, hint="save a tensor"
        )
    return as_vector(value.detach().to(torch.float32).numpy(), where)
