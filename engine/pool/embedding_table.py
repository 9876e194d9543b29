"""Precomputed embeddings: .npy, memory-mapped, or a tensor of .pt."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.errors import DataError


def read_embeddings(path: Path, rows: int) -> NDArray[Any]:
    """[rows, d] floats. A .npy file is mapped, not read; a .pt file must hold one tensor (no pickled code).

    Raises DataError for anything else, and another number of rows.
    """
    table = _tensor(path) if path.suffix in (".pt", ".pth") else _mapped(path)
    if table.ndim != 2 or table.dtype.kind != "f" or not table.shape[1]:
        raise DataError(
            what=f"expected a table of floats, found {table.dtype} of shape {list(table.shape)}",
            where=str(path),
            mend="give [n, d]: a row for each question",
        )
    if len(table) != rows:
        raise DataError(
            what=f"{len(table)} rows of embeddings for {rows} questions",
            where=str(path),
            mend="give the embeddings of these questions, in the order of their file",
        )
    return table


def _mapped(path: Path) -> NDArray[Any]:
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise DataError(what=f"no array: {error}", where=str(path), mend="save it with numpy.save") from error


def _tensor(path: Path) -> NDArray[Any]:
    import torch

    mend = "save one tensor with torch.save"
    try:
        # Mapped: a table of gigabytes need not be in memory twice.
        found = torch.load(path, weights_only=True, map_location="cpu", mmap=True)
    except (
        Exception
    ) as error:  # for bytes that are no pickle, torch's unpickler raises KeyError, struct.error and more
        text = f"{type(error).__name__}: {error}".splitlines()[0][:200]
        raise DataError(what=f"no tensor: {text}", where=str(path), mend=mend) from error
    if not isinstance(found, torch.Tensor):
        raise DataError(what=f"holds {type(found).__name__}, not a tensor", where=str(path), mend=mend)
    return (found.float() if found.dtype == torch.bfloat16 else found).detach().numpy()
