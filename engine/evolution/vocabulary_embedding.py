"""Embeds a whole vocabulary in parts: what was finished before a stop is not embedded again."""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.evolution.layout import EvolutionLayout
from engine.files import write_atomic
from engine.lm.sentence_embedder import SentenceEmbedder

PART = 2048
"""Texts a part; the parts are fixed, so that a resumed run computes the same batches."""


def distinct_texts(texts: Sequence[str]) -> list[str]:
    """Each text once, in the order of first occurrence."""
    return list(dict.fromkeys(texts))


def embed_vocabulary(
    texts: Sequence[str],
    load: Callable[[], SentenceEmbedder],
    layout: EvolutionLayout,
    checkpoint: Callable[[], None],
    progress: Callable[[int], None],
) -> NDArray[np.float32]:
    """One row a text, (len(texts), dimension), also written to `embeddings.npy`. `load` is called only when
    something is left to embed; `progress` is told how many distinct texts are done."""
    if layout.embeddings.exists():
        return np.load(layout.embeddings, allow_pickle=False)
    distinct = distinct_texts(texts)
    embedder: SentenceEmbedder | None = None
    parts: list[NDArray[np.float32]] = []
    for start in range(0, len(distinct), PART):
        file = layout.embedding_parts / f"{start // PART:05d}.npy"
        if not file.exists():
            checkpoint()
            embedder = embedder or load()
            write_array(file, embedder.embed(distinct[start : start + PART]))
        parts.append(np.load(file, allow_pickle=False))
        progress(min(start + PART, len(distinct)))
    place = {text: row for row, text in enumerate(distinct)}
    rows = np.concatenate(parts)[[place[text] for text in texts]]
    write_array(layout.embeddings, rows)
    shutil.rmtree(layout.embedding_parts, ignore_errors=True)
    return rows


def write_array(path: Path, array: NDArray[np.float32]) -> None:
    """A .npy file, written atomically."""
    buffer = io.BytesIO()
    np.save(buffer, array)
    write_atomic(path, buffer.getvalue())
