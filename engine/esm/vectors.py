"""Single vectors on disk: one float32 tensor of shape (hidden_size,) a `.pt` file, read with weights_only."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import torch

from engine.errors import DataError
from engine.lm.protocol import Vector
from engine.torch_file import load_tensors
from engine.vectors.torch_forms import tensor_vector


def vector_bytes(vector: Vector) -> bytes:
    """What is in its file."""
    buffer = io.BytesIO()
    torch.save(torch.from_numpy(np.array(vector, dtype=np.float32)), buffer)
    return buffer.getvalue()


def load_vector(path: Path, hidden_size: int | None = None) -> Vector:
    """Read one vector. A file that is missing, unreadable, of another shape or not finite is a DataError."""
    hint = "run the stages `mine`, `select` and `memory` again for this model"
    try:
        vector = tensor_vector(load_tensors(path, "a vector file cannot be read", hint), str(path))
    except DataError as error:
        raise DataError(what=error.what, where=str(path), hint=hint) from error
    if hidden_size not in (None, len(vector)):
        what = f"a vector has shape {vector.shape}, expected ({hidden_size},)"
        raise DataError(what=what, where=str(path), hint=hint)
    return vector
