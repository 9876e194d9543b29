"""safetensors: a tensor `direction.N` for each 0-based layer N, and the notes as metadata."""

from __future__ import annotations

import re
from pathlib import Path

from safetensors import SafetensorError
from safetensors.numpy import save
from safetensors.torch import load_file

from engine.errors import DataError, reading_errors
from engine.vectors.layer_vectors import LayerVectors, as_vector

_NAME = re.compile(r"(?:(?:direction|layers?)\.)?(\d+)")


def safetensors_bytes(vectors: LayerVectors, model: str) -> bytes:
    """The file's content."""
    tensors = {f"direction.{layer}": vector for layer, vector in vectors.numbered()}
    return save(tensors, {"model": model, **vectors.notes})


def read_safetensors(path: Path) -> LayerVectors:
    """Tensors named `direction.N`, `layers.N`, `layer.N` or `N`. Raises DataError."""
    kinds = (SafetensorError, OSError, NotImplementedError)  # the last for numbers of 4 bits
    with reading_errors(path, "this is not a readable safetensors file", "export the vectors again", *kinds):
        tensors = {name: tensor.float() for name, tensor in load_file(path).items()}
    named = [(match, tensor) for name, tensor in tensors.items() if (match := _NAME.fullmatch(name))]
    if not named:
        raise DataError(
            what="no tensor is named `direction.N`",
            where=str(path),
            hint="name the vectors like this, layers counted from 0",
        )
    return LayerVectors({int(match[1]): as_vector(tensor, f"{path}: {match[0]}") for match, tensor in named})
