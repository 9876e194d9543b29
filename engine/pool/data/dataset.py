"""The protocol of data sets: queries with people's answers, and a table of demonstrations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from numpy.typing import NDArray

from engine.errors import DataError

Image = NDArray[Any] | Path | None
"""Greyscale uint8 [h, w] in [0, 255], or a file; None without an image."""
TRAIN, HELDOUT = "train", "heldout"


def training_queries(data: Iterable[str], splits: Mapping[str, Sequence[str]]) -> list[str]:
    """The queries of RL data that are not held out; the data set may lack some of them. Raises DataError if it lacks
    them all."""
    held, known = set(splits[HELDOUT]), set(splits[TRAIN])
    names = list(data)
    training = [name for name in names if name not in held]
    if known.isdisjoint(training):
        raise DataError(
            what=f"no query of the RL data can be trained on: of {len(names)}, {len(names) - len(training)} are held "
            f"out and {len(training)} are not among the questions",
            where="pool.rl_data",
            hint="give RL data about questions that are not held out, or name other `pool.files.heldout`",
        )
    return training


def majority(answers: Iterable[str]) -> str:
    """The most frequent answer; of equally frequent ones the first in order."""
    counts = Counter(answers)
    return min(counts, key=lambda answer: (-counts[answer], answer))


class PoolDataset(Protocol):
    """Queries by id, and demonstrations by row of `embeddings`; pools hold these rows."""

    @property
    def splits(self) -> Mapping[str, Sequence[str]]:
        """Ids of `train` and `heldout` queries, in order, without overlap."""
        ...

    @property
    def embeddings(self) -> NDArray[Any]:
        """[N, d] floats; may be memory-mapped, may hold rows that are not finite."""
        ...

    def query_embedding(self, query_id: str) -> NDArray[Any]:
        """The query's embedding [d], in the space of `embeddings`."""
        ...

    def question(self, query_id: str) -> str:
        """The question's text."""
        ...

    def annotations(self, query_id: str) -> list[str]:
        """People's answers to the question."""
        ...

    def query_image(self, query_id: str) -> Image:
        """The image that the question is about."""
        ...

    def excluded(self, query_id: str) -> Sequence[int]:
        """Rows with the query itself or its image, which are never its demonstrations."""
        ...

    def demonstration(self, row: int) -> tuple[str, str]:
        """Question and answer that a prompt shows with the row's image."""
        ...

    def image(self, row: int) -> Image:
        """The row's image."""
        ...
