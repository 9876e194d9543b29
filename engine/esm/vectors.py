"""Single vectors on disk: one float32 tensor of shape (hidden_size,) a `.pt` file, read with weights_only."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import torch

from engine.errors import DataError
from engine.lm.protocol import Vector
from engine.torch_file import load_tensors


def vector_bytes(vector: Vector) -> bytes:
    """What is in its file."""
    buffer = io.BytesIO()
    torch.save(torch.from_numpy(np.array(vector, dtype=np.float32)), buffer)
    return buffer.getvalue()


def load_vector(path: Path, hidden_size: int | None = None) -> Vector:
    """Read one vector. A file that is missing, unreadable, of another shape or not finite is a DataError."""
    hint = "run the stages `mine`, `select` and `memory` again for this model"
    if not path.is_file():
        raise DataError(what="a vector file is missing", where=str(path), hint=hint)
    tensor = load_tensors(path, "a vector file cannot be read", hint)
    if not isinstance(tensor, torch.Tensor):
        raise DataError(what="a vector file cannot be read: it is not a tensor", where=str(path), hint=hint)
    vector = tensor.to(torch.float32).numpy()
    if vector.ndim != 1 or (hidden_size is not None and vector.shape != (hidden_size,)):
        expected = f"({hidden_size},)" if hidden_size is not None else "one dimension"
        raise DataError(
            what=f"a vector has shape {vector.shape}, expected {expected}", where=str(path), hint=hint
        )
    if not np.isfinite(vector).all():
        raise DataError(what="a vector holds NaN or infinity", where=str(path), hint=hint)
    return vector
