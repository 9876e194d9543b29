"""The rows of a table nearest to each of many queries, block by block: memory grows with the block, not the table."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

BLOCK_ROWS = 16_384
_SCORES_AT_ONCE = 1 << 24
"""Similarities held at once: 64 MB."""
NOBODY = -1
"""Stands in `rows` where the table has no further row."""

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Neighbours:
    """`rows` [Q, k] by falling cosine `similarity` [Q, k]; of equals the lower row first."""

    rows: NDArray[np.int64]
    similarity: Floats

    def of(self, number: int) -> list[int]:
        """Rows nearest to query `number`, best first."""
        rows = self.rows[number]
        return rows[rows != NOBODY].tolist()


def top_k(
    table: NDArray[Any],
    queries: NDArray[Any],
    k: int,
    checkpoint: Callable[[], None] = lambda: None,
    block_rows: int = BLOCK_ROWS,
) -> Neighbours:
    """Nearest rows of `table` [N, d], which may be memory-mapped, to `queries` [Q, d], by cosine.

    A row that holds NaN or infinity is nobody's neighbour, a query that does has none; a row of zeros has
    similarity 0 to all. `checkpoint` is called between blocks.
    """
    directions = _directions(queries)
    usable = np.isfinite(directions).all(axis=1)
    directions[~usable] = 0
    found = Neighbours(
        np.full((len(queries), k), NOBODY, dtype=np.int64),
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
            _merge(found, first, scores, first_row)
        _forget(table)
    found.rows[~usable] = NOBODY
    found.similarity[~usable] = -np.inf
    return found


def _merge(found: Neighbours, first: int, scores: Floats, first_row: int) -> None:
    """Take a block's rows in. They come after all rows so far, so a tie leaves what is there."""
    k = found.rows.shape[1]
    better = scores > found.similarity[first : first + len(scores), -1:]
    for number in np.flatnonzero(better.any(axis=1)):
        place = np.flatnonzero(better[number])
        similarity = np.concatenate([found.similarity[first + number], scores[number, place]])
        rows = np.concatenate([found.rows[first + number], place + first_row])
        order = np.argsort(-similarity, kind="stable")[:k]
        found.similarity[first + number] = similarity[order]
        found.rows[first + number] = rows[order]


def _forget(table: NDArray[Any]) -> None:
    """Let go of pages of a mapped file that were read: they would count as this process's memory."""
    if isinstance(table.base, mmap.mmap) and not table.flags.writeable and hasattr(mmap, "MADV_DONTNEED"):
        table.base.madvise(mmap.MADV_DONTNEED)


def usable_rows(table: NDArray[Any], rows: Sequence[int]) -> NDArray[np.bool_]:
    """[len(rows)]: whether a row can be anybody's neighbour."""
    directions = _taken(table, rows)
    return np.array([bool(np.isfinite(one).all()) for one in directions], dtype=np.bool_)


def similarities(table: NDArray[Any], rows: Sequence[int], query: NDArray[Any]) -> Floats:
    """[len(rows)]: cosine of each row to the query [d]; minus infinity for a row that is not finite."""
    found = _taken(table, rows) @ _directions(query[None])[0]
    return np.where(np.isfinite(found), found, np.float32(-np.inf))


def _taken(table: NDArray[Any], rows: Sequence[int]) -> Floats:
    """[len(rows), d]: directions of these rows alone."""
    found = _directions(table[np.asarray(rows, dtype=np.int64)])
    _forget(table)
    return found


def _directions(rows: NDArray[Any]) -> Floats:
    """A copy in float32, each row of length 1; zeros stay zeros."""
    with np.errstate(over="ignore", invalid="ignore"):
        copied = np.array(rows, dtype=np.float32)
        length = np.sqrt(np.einsum("ij,ij->i", copied, copied))
        copied /= np.where(length == 0, 1, length)[:, None]
        copied[~np.isfinite(length)] = np.nan
    return copied
