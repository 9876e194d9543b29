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
        """The tables of a run. Raises DataError where they are missing, no arrays, or of two widths."""
        tables = cls(_mapped(layout.entity_embeddings(run_dir)), _mapped(layout.relation_embeddings(run_dir)))
        if tables.entity.shape[1] != tables.relation.shape[1]:
            raise DataError(
                what=f"entities are embedded in {tables.entity.shape[1]} dimensions, relations in "
                f"{tables.relation.shape[1]}",
                where=str(layout.folder(run_dir)),
                hint="embed both with the same model: remove both files and run the stage graphs again",
            )
        return tables

    @property
    def width(self) -> int:
        """D."""
        return self.entity.shape[1]

    def entities(self, numbers: torch.Tensor) -> torch.Tensor:
        """[n, D] of rows `numbers` (node_embedding_ids)."""
        return _rows(self.entity, numbers, "entity_embeddings.npy")

    def relations(self, numbers: torch.Tensor) -> torch.Tensor:
        """[n, D] of relations `numbers`."""
        return _rows(self.relation, numbers, "relation_embeddings.npy")


@dataclass(frozen=True)
class Texts:
    """Names of entities and relations, by number."""

    entities: list[str]
    relations: list[str]

    @classmethod
    def load(cls, run_dir: Path) -> Texts:
        """The names of a run. Raises DataError where they are missing."""
        return cls(_list(layout.entity_texts(run_dir)), _list(layout.relation_texts(run_dir)))

    def entity(self, number: int) -> str:
        """Name of an entity; its id where it has none. Raises DataError for a number of other graphs."""
        return _name(self.entities, number, "entity")

    def relation(self, number: int) -> str:
        """Name of a relation. Raises DataError for a number of other graphs."""
        return _name(self.relations, number, "relation")


_FIRST = "run the stage graphs first"
_OTHER = "are those of other graphs: remove the folder gflownet and run its stages again"


def _name(names: list[str], number: int, kind: str) -> str:
    if not 0 <= number < len(names):
        raise DataError(
            what=f"{kind} {number} is asked for, there are {len(names)}",
            where=f"gflownet, the names of kind {kind}",
            hint=f"the names {_OTHER}",
        )
    return names[number]


def _rows(table: NDArray[np.float32], numbers: torch.Tensor, name: str) -> torch.Tensor:
    out_of_range = numbers[(numbers < 0) | (numbers >= len(table))]
    if out_of_range.numel():
        raise DataError(
            what=f"row {int(out_of_range[out_of_range.abs().argmax()])} is asked for, there are {len(table)}",
            where=f"gflownet/{name}",
            hint=f"the embeddings {_OTHER}",
        )
    rows = torch.from_numpy(table[numbers.numpy()])
    if not bool(torch.isfinite(rows).all()):
        raise DataError(
            what="some of its numbers are NaN or infinite",
            where=f"gflownet/{name}",
            hint="remove the file and run the stage graphs again",
        )
    return rows


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
