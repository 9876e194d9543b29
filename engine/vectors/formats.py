"""Write a file in any of the formats of `names.FORMATS`, and read these and other tools' `.pt` files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from engine.errors import DataError, reading_errors
from engine.regular_file import open_to_read
from engine.vectors.gguf_form import gguf_bytes, read_gguf
from engine.vectors.layer_vectors import LayerVectors
from engine.vectors.safetensors_form import read_safetensors, safetensors_bytes
from engine.vectors.torch_forms import read_torch


def vector_file(form: str, vectors: LayerVectors, model: str, scale: float) -> bytes:
    """The content of a file in `form`, each vector times `scale`. Raises DataError where the format cannot hold the
    vectors."""
    if form == "gguf" and 0 in vectors.layers:
        raise DataError(
            what="llama.cpp steers no layer 0, and refuses a file that has it",
            where="--format gguf",
            hint="leave it out with --layers, or choose another format",
        )
    scaled = replace(vectors, vectors={n: np.float32(scale) * v for n, v in vectors.numbered()})
    return safetensors_bytes(scaled, model) if form == "safetensors" else gguf_bytes(scaled, model)


def read_vectors(path: Path) -> LayerVectors:
    """What a file holds, whichever tool wrote it. Raises DataError."""
    unreadable = reading_errors(path, "the file of vectors cannot be read", "name a file", OSError)
    with unreadable, open_to_read(path) as file:
        start = file.read(4)
    if start == b"GGUF":
        return read_gguf(path)
    return read_safetensors(path) if path.suffix == ".safetensors" else read_torch(path)
