"""Names and text embeddings of a run's entities and relations, by number."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from engine.array_file import load_array
from engine.errors import DataError, reading_errors
from engine.files import decoded
from engine.gflownet import layout


@dataclass(frozen=True)
class EmbeddingTables:
    """Memory-mapped float32: `entity` [1 + M, D], row 0 zero for all without text; `relation` [R, D]."""

    entity: NDArray[np.float32]
    relation: NDArray[np.float32]

    @classmethod
    def load(cls, run_dir: Path) -> EmbeddingTables:
        """The tables of a run. Raises DataError where they are missing or no arrays."""
        return cls(_mapped(layout.entity_embeddings(run_dir)), _mapped(layout.relation_embeddings(run_dir)))

    @property
    def width(self) -> int:
        """D."""
        return self.entity.shape[1]

    def entities(self, numbers: torch.Tensor) -> torch.Tensor:
        """[n, D] of rows `numbers` (node_embedding_ids)."""
        return torch.from_numpy(self.entity[numbers.numpy()])

    def relations(self, numbers: torch.Tensor) -> torch.Tensor:
        """[n, D] of relations `numbers`."""
        return torch.from_numpy(self.relation[numbers.numpy()])


@dataclass(frozen=True)
class Texts:
    """Names of entities and relations, by number; of an entity without one its id."""

    entities: list[str]
    relations: list[str]

    @classmethod
    def load(cls, run_dir: Path) -> Texts:
        """The names of a run. Raises DataError where they are missing."""
        return cls(_list(layout.entity_texts(run_dir)), _list(layout.relation_texts(run_dir)))


_FIRST = "run the stage graphs first"


def _mapped(path: Path) -> NDArray[np.float32]:
    with reading_errors(path, "no embeddings", _FIRST, OSError, ValueError):
        array = load_array(path, mapped=True)
    if array.ndim != 2 or array.dtype != np.float32:
        raise DataError(
            what=f"expected a float32 table, found {array.dtype} with {array.ndim} dimensions",
            where=str(path),
            hint=_FIRST,
        )
    return array


def _list(path: Path) -> list[str]:
    return decoded(path, list[str], "no names", _FIRST)
