"""Embeds many texts in chunks: chunks that were finished before a stop are not embedded again."""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.array_file import load_array
from engine.errors import reading_errors
from engine.files import write_atomic
from engine.lm.embedding.sentence_embedder import SentenceEmbedder

CHUNK = 2048
"""Texts in a chunk; chunks are fixed, so that a resumed run computes the same batches."""


def distinct_texts(texts: Sequence[str]) -> list[str]:
    """Each text once, in the order of first occurrence."""
    return list(dict.fromkeys(texts))


def embed_texts(
    texts: Sequence[str],
    load: Callable[[], SentenceEmbedder],
    file: Path,
    checkpoint: Callable[[], None],
    progress: Callable[[int], None],
) -> NDArray[np.float32]:
    """Vectors (len(texts), dimension), a row for each text, also written to `file`. `load` is called only when
    texts are left to embed; `progress` receives the number of distinct texts done."""
    folder = file.with_suffix(".parts")
    if file.exists():
        shutil.rmtree(folder, ignore_errors=True)
        return _kept(file, len(texts))
    distinct = distinct_texts(texts)
    embedder: SentenceEmbedder | None = None
    chunks: list[NDArray[np.float32]] = []
    for start in range(0, len(distinct), CHUNK):
        chunk = folder / f"{start // CHUNK:05d}.npy"
        if not chunk.exists():
            checkpoint()
            embedder = embedder or load()
            write_array(chunk, embedder.embed(distinct[start : start + CHUNK]))
        chunks.append(_kept(chunk, len(distinct[start : start + CHUNK])))
        progress(min(start + CHUNK, len(distinct)))
    row_of = {text: row for row, text in enumerate(distinct)}
    rows = np.concatenate(chunks)[[row_of[text] for text in texts]]
    write_array(file, rows)
    shutil.rmtree(folder, ignore_errors=True)
    return rows


def _kept(path: Path, rows: int) -> NDArray[np.float32]:
    """What an earlier attempt wrote. Raises DataError for anything else."""
    again = "remove the file: it is made again"
    with reading_errors(path, "these are no embeddings", again, OSError, ValueError):
        array = load_array(path)
        if array.ndim != 2 or array.dtype != np.float32 or len(array) != rows:
            what = f"{array.dtype} of shape {list(array.shape)}"
            raise ValueError(f"{what}, not a float32 row for each of {rows} texts")
    return array


def write_array(path: Path, array: NDArray[np.float32]) -> None:
    """A .npy file, written atomically."""
    buffer = io.BytesIO()
    np.save(buffer, array)
    write_atomic(path, buffer.getvalue())
