"""The episodic memory that retrieval searches: keys.npy beside entries.jsonl, row by row (spec ESM 5, 6.3)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from engine.array_file import load_array
from engine.errors import DataError, reading_errors
from engine.esm.library.entry_names import EntryNamer
from engine.esm.lines import read_entries
from engine.esm.vectors import load_vector
from engine.files import decoded, inside, required
from engine.lm.protocol import ModelInfo, Vector
from engine.regular_file import read_regular

_AGAIN = "run the stage `memory` again"


@dataclass(frozen=True)
class Entry:
    """One memory entry, `tool_name` its id; `vector` is None for a right entry, which speaks for null."""

    tool_name: str
    layer: int
    control_point_m: int
    quality: float
    vector: Vector | None
    source: str
    name: str = ""

    @property
    def kind(self) -> str:
        """wrong (can be injected) or right."""
        return "right" if self.vector is None else "wrong"


@dataclass(frozen=True)
class EpisodicMemory:
    """`layers`: those that occur. `grouped`: (N, hidden_size), unit keys in the order `rows` of entries, by control
    point and layer, so that each retrieval reads one piece of memory; `groups`: of each control point, the layer's
    position among `layers`, and where its piece begins and ends."""

    entries: list[Entry]
    layers: tuple[int, ...]
    grouped: NDArray[np.float32]
    rows: NDArray[np.int64]
    groups: dict[int, list[tuple[int, int, int]]]

    @classmethod
    def of(cls, entries: list[Entry], keys: NDArray[np.float32]) -> EpisodicMemory:
        """Index entries; keys are normalised again in case they were stored raw."""
        norms = np.linalg.norm(keys, axis=1, keepdims=True)
        unit = (keys / np.maximum(norms, 1e-12)).astype(np.float32)
        points = np.array([entry.control_point_m for entry in entries], dtype=np.int64)
        layers, positions = np.unique([entry.layer for entry in entries], return_inverse=True)
        rows = np.lexsort((positions, points))
        begins = np.flatnonzero(np.diff(points[rows], prepend=-1) | np.diff(positions[rows], prepend=-1))
        groups: dict[int, list[tuple[int, int, int]]] = {}
        for begin, end in pairwise([*begins.tolist(), len(rows)]):
            groups.setdefault(int(points[rows[begin]]), []).append((int(positions[rows[begin]]), begin, end))
        return cls(entries, tuple(layers.tolist()), unit[rows], rows, groups)

    @classmethod
    def load(cls, folder: Path, library: Path, info: ModelInfo) -> EpisodicMemory:
        """Read and check against the model. Anything that does not fit it is a DataError."""
        rows = read_entries(folder / "entries.jsonl", "memory", info.num_layers)
        keys = _read_keys(required(folder / "keys.npy", "memory"))
        built = _check_model(required(folder / "memory.json", "memory"), info)
        if keys.shape != (len(rows), info.hidden_size):
            raise DataError(
                what=f"keys have shape {keys.shape}, expected ({len(rows)}, {info.hidden_size})",
                where=str(folder / "keys.npy"),
                hint=_AGAIN,
            )
        _check_digest(folder / "keys.npy", built)
        entries = [
            Entry(
                vector=load_vector(inside(library, row["vector_path"]), info.hidden_size)
                if row["vector_path"]
                else None,
                source=row["example_id"],
                **{key: row[key] for key in ("tool_name", "layer", "control_point_m", "quality", "name")},
            )
            for row in EntryNamer(folder.parent / "mine").named(rows)
        ]
        return cls.of(entries, keys)

    @property
    def names(self) -> dict[str, str]:
        """What the entries are called, by id."""
        return {entry.tool_name: entry.name for entry in self.entries}

    def without_right(self) -> EpisodicMemory:
        """The ablation `no_right_entries`."""
        keep = [i for i, entry in enumerate(self.entries) if entry.vector is not None]
        return self.only(keep)

    @property
    def keys(self) -> NDArray[np.float32]:
        """(N, hidden_size), unit, in the order of `entries`."""
        keys = np.empty_like(self.grouped)
        keys[self.rows] = self.grouped
        return keys

    def only(self, keep: Sequence[int]) -> EpisodicMemory:
        """These entries, by their place."""
        return EpisodicMemory.of([self.entries[i] for i in keep], self.keys[list(keep)])

    def with_vectors(self, vectors: Sequence[Vector | None]) -> EpisodicMemory:
        """The same keys with other vectors in place of the mined ones."""
        entries = [replace(entry, vector=vector) for entry, vector in zip(self.entries, vectors, strict=True)]
        return replace(self, entries=entries)

    def similarities(
        self, m: int, states: NDArray[np.float32]
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Rows of control point `m` and their cosine to `states` (len(layers), hidden_size), each against the
        state of its own layer."""
        groups = self.groups.get(m, [])
        norms = np.linalg.norm(states, axis=1, keepdims=True)
        queries = states / np.maximum(norms, 1e-12)
        cosines = [np.einsum("ij,j->i", self.grouped[begin:end], queries[at]) for at, begin, end in groups]
        if not cosines:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32)
        rows = self.rows[groups[0][1] : groups[-1][2]]
        order = np.argsort(rows, kind="stable")  # of one layer they are sorted
        return rows[order], np.concatenate(cosines)[order].astype(np.float32)


def _read_keys(path: Path) -> NDArray[np.float32]:
    with reading_errors(path, "the keys cannot be read", _AGAIN, OSError, ValueError):
        keys = load_array(path)
    if keys.dtype.kind != "f":
        raise DataError(what=f"keys are {keys.dtype}, not floats", where=str(path), hint=_AGAIN)
    if not np.isfinite(keys).all():
        raise DataError(what="keys hold NaN or infinity", where=str(path), hint="run the stage `mine` again")
    return keys


class MemoryModel(msgspec.Struct):
    """memory.json: the model that the keys are states of. `keys_sha256`: of keys.npy, "" in older runs."""

    model: str
    hidden_size: int
    num_layers: int
    keys_sha256: str = ""


def _check_digest(path: Path, built: MemoryModel) -> None:
    """Changed keys may be numbers like any other: entries would be found by the wrong states."""
    if built.keys_sha256 and hashlib.sha256(read_regular(path)).hexdigest() != built.keys_sha256:
        raise DataError(
            what="the keys are not as the stage `memory` wrote them: some bytes have changed",
            where=str(path),
            hint=_AGAIN,
        )


def _check_model(path: Path, info: ModelInfo) -> MemoryModel:
    built = decoded(path, MemoryModel, "it does not say which model the memory is for", _AGAIN)
    expected = {"hidden_size": info.hidden_size, "num_layers": info.num_layers, "model": info.fingerprint}
    for name, here in expected.items():
        if (there := getattr(built, name)) != here:
            raise DataError(
                what=f"the memory was built for another model: {name} is {there} there, {here} here",
                where=str(path),
                hint="mine, select and build the memory with this model, or load the model it was built for",
            )
    return built
