"""Training states: tensors and plain values in a single file, written atomically, without pickled code."""

from __future__ import annotations

import io
import pickle
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from engine.errors import DataError
from engine.files import write_atomic
from engine.regular_file import check_regular


def save_torch(path: Path, state: dict[str, Any]) -> None:
    """Write `state` atomically."""
    buffer = io.BytesIO()
    torch.save(state, buffer)
    write_atomic(path, buffer.getvalue())


def load_torch(path: Path, hint: str) -> dict[str, Any]:
    """Read what `save_torch` wrote. Raises DataError, with `hint`, for anything else."""
    state = load_tensors(path, "the file cannot be read as tensors and plain values", hint)
    if not isinstance(state, dict):
        raise DataError(what="the file holds no dictionary", where=str(path), hint=hint)
    return state


def load_tensors(path: Path, what: str, hint: str) -> Any:
    """Tensors and plain values, whoever saved them. Raises DataError: `what`, why, and `hint`."""
    try:
        check_packed(path)
        return torch.load(path, weights_only=True, map_location="cpu")
    except pickle.UnpicklingError as error:
        # torch's own advice here is to load without weights_only: not with a file from elsewhere
        raise DataError(what=f"{what}: it is not a tensor", where=str(path), hint=hint) from error
    except Exception as error:  # for other bytes torch's unpickler raises KeyError, struct.error and more
        raise DataError(what=f"{what}: {_first_line(error)}", where=str(path), hint=hint) from error


def check_packed(path: Path) -> None:
    """Raises ValueError for an archive that unpacks to more than it is: `torch.save` packs nothing. Raises OSError
    for what is no regular file."""
    check_regular(path)
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            unpacked = sum(member.file_size for member in archive.infolist())
        if unpacked > (size := path.stat().st_size):
            raise ValueError(f"its {size:,} bytes unpack to {unpacked:,}")


def _first_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return f"{type(error).__name__}: {error}".splitlines()[0][:200]


ALL_THREADS = torch.get_num_threads()
"""As torch or OMP_NUM_THREADS chose, before any model asked for fewer."""


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Compute with `count` CPU threads: for small networks, waiting for other threads costs more than they gain."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
