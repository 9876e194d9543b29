"""What the demonstration pool is about: queries with people's answers, and a table of demonstrations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from numpy.typing import NDArray

Image = NDArray[Any] | Path | None
"""Greyscale uint8 [h, w] in [0, 255], or a file; None where there is none."""
TRAIN, HELDOUT = "train", "heldout"


class PoolDataset(Protocol):
    """Queries by id; demonstrations by row of `embeddings`, which pools and pointers speak of."""

    @property
    def splits(self) -> Mapping[str, Sequence[str]]:
        """Ids of `train` and `heldout` queries, in order; no query is in both."""
        ...

    @property
    def query_ids(self) -> Sequence[str]:
        """Those of both splits."""
        ...

    @property
    def embeddings(self) -> NDArray[Any]:
        """[N, d] floats; may be memory-mapped, may hold rows that are not finite."""
        ...

    def query_embedding(self, query_id: str) -> NDArray[Any]:
        """[d], in the same space."""
        ...

    def question(self, query_id: str) -> str:
        """In words."""
        ...

    def annotations(self, query_id: str) -> list[str]:
        """People's answers."""
        ...

    def query_image(self, query_id: str) -> Image:
        """What the question is about."""
        ...

    def own_rows(self, query_id: str) -> Sequence[int]:
        """Rows that show the query itself, or its image: never its demonstrations."""
        ...

    def demonstration(self, row: int) -> tuple[str, str]:
        """Question and answer that are shown with the row's image."""
        ...

    def image(self, row: int) -> Image:
        """The row's image."""
        ...
