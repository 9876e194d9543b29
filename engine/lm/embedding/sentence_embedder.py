"""The interface of sentence embedders, and how the one in a configuration is loaded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

HASHED = "hashed"
"""Name of the embedder that needs no weights."""


class SentenceEmbedder(Protocol):
    """Maps a text to a vector of unit length, so that a dot product is a cosine."""

    @property
    def name(self) -> str:
        """The model, and where its weights come from."""
        ...

    @property
    def dimension(self) -> int: ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors (len(texts), dimension). Raises ModelError when the device fails, e.g. is out of memory."""
        ...


def load_embedder(
    name: str, device: str = "cpu", batch_size: int = 256, setting: str = "embedder"
) -> SentenceEmbedder:
    """`hashed`, or a sentence-transformers model: a folder or a hub name (see `sentence_transformer`).

    `device`: cpu, cuda or mps; a device that this machine lacks is a ModelError, never replaced by another. `setting`:
    the configuration section that errors point to.
    """
    if name == HASHED:
        from engine.lm.embedding.hashed_embedder import HashedEmbedder

        return HashedEmbedder()
    from engine.lm.embedding.sentence_transformer import SentenceTransformerEmbedder

    return SentenceTransformerEmbedder.load(name, device, batch_size, setting)
