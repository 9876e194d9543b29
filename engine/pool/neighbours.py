"""The rows nearest to every query, searched once and kept."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from engine.files import write_atomic
from engine.pool.top_k import Neighbours, top_k


def load_or_search(
    path: Path,
    names: Sequence[str],
    table: NDArray[Any],
    queries: Sequence[NDArray[Any]],
    k: int,
    checkpoint: Callable[[], None],
) -> Neighbours:
    """The `k` rows of `table` nearest to each query: from `path` if it holds just that, else searched and written."""
    found = _loaded(path, names, k, len(table))
    if found is None:
        asked = np.array(queries, dtype=np.float32).reshape(len(names), table.shape[1])
        found = top_k(table, asked, k, checkpoint)
        buffer = io.BytesIO()
        np.savez(
            buffer, names=np.array(names), rows=found.rows, similarity=found.similarity, table=len(table)
        )
        write_atomic(path, buffer.getvalue())
    return found


def _loaded(path: Path, names: Sequence[str], k: int, table_size: int) -> Neighbours | None:
    """None where nothing usable is there: searching again costs less than asking for help."""
    if not path.exists():
        return None
    try:
        with np.load(path, allow_pickle=False) as file:
            same = file["names"].tolist() == list(names) and int(file["table"]) == table_size
            rows = np.asarray(file["rows"], dtype=np.int64)
            similarity = np.asarray(file["similarity"], dtype=np.float32)
    except (OSError, ValueError, KeyError, EOFError, BadZipFile):
        return None
    fits = same and rows.shape == similarity.shape == (len(names), k)
    return Neighbours(rows, similarity) if fits else None
