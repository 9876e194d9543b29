"""Embeds many texts in parts: what was finished before a stop is not embedded again."""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.files import write_atomic
from engine.lm.embedding.sentence_embedder import SentenceEmbedder

PART = 2048
"""Texts a part; the parts are fixed, so that a resumed run computes the same batches."""


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
    """One row a text, (len(texts), dimension), also written to `file`. `load` is called only when something is left
    to embed; `progress` is told how many distinct texts are done."""
    folder = file.with_suffix(".parts")
    if file.exists():
        shutil.rmtree(folder, ignore_errors=True)
        return np.load(file, allow_pickle=False)
    distinct = distinct_texts(texts)
    embedder: SentenceEmbedder | None = None
    parts: list[NDArray[np.float32]] = []
    for start in range(0, len(distinct), PART):
        part = folder / f"{start // PART:05d}.npy"
        if not part.exists():
            checkpoint()
            embedder = embedder or load()
            write_array(part, embedder.embed(distinct[start : start + PART]))
        parts.append(np.load(part, allow_pickle=False))
        progress(min(start + PART, len(distinct)))
    place = {text: row for row, text in enumerate(distinct)}
    rows = np.concatenate(parts)[[place[text] for text in texts]]
    write_array(file, rows)
    shutil.rmtree(folder, ignore_errors=True)
    return rows


def write_array(path: Path, array: NDArray[np.float32]) -> None:
    """A .npy file, written atomically."""
    buffer = io.BytesIO()
    np.save(buffer, array)
    write_atomic(path, buffer.getvalue())
