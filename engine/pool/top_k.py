"""Exact nearest-row search for many queries, block by block: memory grows with the block, not with the table."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

BLOCK_ROWS = 16_384
_SCORES_AT_ONCE = 1 << 24
"""Similarities held at once: 64 MB."""
NO_ROW = -1
"""Entry of `rows` where the table has no further row."""

Floats = NDArray[np.float32]


def as_array(table: ArrayLike | torch.Tensor) -> NDArray[Any]:
    """A table of embeddings for numpy: also a dense tensor of any floats, on any device, with a gradient."""
    if not isinstance(table, torch.Tensor):
        return np.asanyarray(table)
    rows = table.detach().cpu()
    return (rows if rows.dtype in (torch.float16, torch.float32, torch.float64) else rows.float()).numpy()


@dataclass(frozen=True)
class Neighbours:
    """`rows` [Q, k] by falling cosine `similarity` [Q, k]; equally similar rows by row number."""

    rows: NDArray[np.int64]
    similarity: Floats

    def of(self, number: int) -> list[int]:
        """Rows nearest to query `number`, best first."""
        rows = self.rows[number]
        return rows[rows != NO_ROW].tolist()


def top_k(
    table: NDArray[Any],
    queries: NDArray[Any],
    k: int,
    checkpoint: Callable[[], None] = lambda: None,
    block_rows: int = BLOCK_ROWS,
) -> Neighbours:
    """The `k` rows of `table` [N, d], which may be memory-mapped, nearest to `queries` [Q, d] by cosine.

    Rows with NaN or infinity are no neighbours, and queries with them have none; a row of zeros has similarity 0.
    `checkpoint` is called between blocks.
    """
    directions = _directions(queries)
    usable = np.isfinite(directions).all(axis=1)
    directions[~usable] = 0
    nearest = Neighbours(
        np.full((len(queries), k), NO_ROW, dtype=np.int64),
        np.full((len(queries), k), -np.inf, dtype=np.float32),
    )
    group = max(1, _SCORES_AT_ONCE // block_rows)
    for first_row in range(0, len(table), block_rows):
        checkpoint()
        block = _directions(table[first_row : first_row + block_rows])
        unusable = ~np.isfinite(block).all(axis=1)
        block[unusable] = 0
        for first in range(0, len(queries), group):
            scores = directions[first : first + group] @ block.T
            scores[:, unusable] = -np.inf
            _merge(nearest, first, scores, first_row)
        _forget(table)
    nearest.rows[~usable] = NO_ROW
    nearest.similarity[~usable] = -np.inf
    return nearest


def _merge(nearest: Neighbours, first: int, scores: Floats, first_row: int) -> None:
    """Add a block's rows. On a tie the earlier row stays, as blocks come in row order."""
    k = nearest.rows.shape[1]
    better = scores > nearest.similarity[first : first + len(scores), -1:]
    for number in np.flatnonzero(better.any(axis=1)):
        place = np.flatnonzero(better[number])
        similarity = np.concatenate([nearest.similarity[first + number], scores[number, place]])
        rows = np.concatenate([nearest.rows[first + number], place + first_row])
        order = np.argsort(-similarity, kind="stable")[:k]
        nearest.similarity[first + number] = similarity[order]
        nearest.rows[first + number] = rows[order]


def _forget(table: NDArray[Any]) -> None:
    """Release the read pages of a mapped file, which would count as this process's memory."""
    if isinstance(table.base, mmap.mmap) and not table.flags.writeable and hasattr(mmap, "MADV_DONTNEED"):
        table.base.madvise(mmap.MADV_DONTNEED)


def usable_rows(table: NDArray[Any], rows: Sequence[int]) -> NDArray[np.bool_]:
    """[len(rows)]: whether each row is finite."""
    return np.asarray(np.isfinite(_directions_of(table, rows)).all(axis=1), dtype=np.bool_)


def similarities(table: NDArray[Any], rows: Sequence[int], query: NDArray[Any]) -> Floats:
    """[len(rows)]: cosine of each row to the query [d]; minus infinity for a row that is not finite."""
    cosines = _directions_of(table, rows) @ _directions(query[None])[0]
    return np.where(np.isfinite(cosines), cosines, np.float32(-np.inf))


def _directions_of(table: NDArray[Any], rows: Sequence[int]) -> Floats:
    """[len(rows), d]: directions of these rows."""
    directions = _directions(table[np.asarray(rows, dtype=np.int64)])
    _forget(table)
    return directions


def _directions(rows: NDArray[Any]) -> Floats:
    """A copy in float32 with rows of length 1; rows of zeros stay zero."""
    with np.errstate(over="ignore", invalid="ignore"):
        copied = np.array(rows, dtype=np.float32)
        length = np.sqrt(np.einsum("ij,ij->i", copied, copied))
        copied /= np.where(length == 0, 1, length)[:, None]
        copied[~np.isfinite(length)] = np.nan
    return copied
