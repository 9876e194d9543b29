"""An embedder without weights: hashed character n-grams. It sees spelling, not meaning."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray


class HashedEmbedder:
    """Counts of character n-grams (n from 1 to 3, word edges marked), hashed with a sign into `dimension`
    buckets and scaled to unit length. The same text and seed give the same vector on every machine."""

    def __init__(self, dimension: int = 256, seed: int = 0) -> None:
        self.dimension = dimension
        """Length of a vector."""
        self._key = seed.to_bytes(8, "big")
        self._buckets: dict[str, tuple[int, float]] = {}

    @property
    def name(self) -> str:
        """The embedder, as a log shows it."""
        return f"hashed character n-grams ({self.dimension} dimensions)"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """(len(texts), dimension), rows of unit length."""
        rows = np.zeros((len(texts), self.dimension))
        for row, text in zip(rows, texts, strict=True):
            for gram in _grams(text):
                bucket, sign = self._bucket(gram)
                row[bucket] += sign
            if not row.any():  # all n-grams cancelled each other
                row[self._bucket(text)[0]] = 1.0
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)

    def _bucket(self, gram: str) -> tuple[int, float]:
        """The bucket in which an n-gram is counted, and its sign."""
        if gram not in self._buckets:
            data = gram.encode("utf-8", "surrogatepass")
            number = int.from_bytes(hashlib.blake2b(data, digest_size=8, key=self._key).digest(), "big")
            self._buckets[gram] = (number >> 1) % self.dimension, 1.0 if number & 1 else -1.0
        return self._buckets[gram]


def _grams(text: str) -> Iterator[str]:
    marked = f"\x02{text.lower()}\x03"
    for n in (1, 2, 3):
        for start in range(len(marked) - n + 1):
            yield marked[start : start + n]
