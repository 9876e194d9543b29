"""ESM's library as static vectors, for tools that add the same vector wherever they steer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

import numpy as np

from engine.errors import DataError
from engine.esm import layout
from engine.esm.library.entry_names import EntryNamer
from engine.esm.lines import Record, read_entries
from engine.esm.online.variants import layer_means
from engine.esm.vectors import load_vector, vector_bytes
from engine.files import inside, write_atomic, write_jsonl
from engine.lm.protocol import Vector
from engine.run.directory import RunDirectory
from engine.vectors.formats import vector_file
from engine.vectors.layer_vectors import LayerVectors
from engine.vectors.names import FORMATS


@dataclass(frozen=True)
class LibraryVector:
    """An entry of kind wrong; entries of kind right hold no vector, and are not among these. `record`: its line of the
    library, with `file`, the beginning of the names of its files, of its place in the library alone: what the library
    calls it may be any path."""

    record: Record
    vector: Vector


def library_vectors(
    run_dir: Path, ids: Sequence[str] = (), layers: Sequence[int] = ()
) -> list[LibraryVector]:
    """The entries with a vector, in the library's order: all, or those with `ids` (lib_id, tool name or name), of
    `layers` if any are named. Raises DataError for an id without a vector, and where nothing is left."""
    folder = layout.library(run_dir)
    records = _library(run_dir)
    named = _records(records, ids, str(folder)) if ids else [r for r in records if r["vector_path"]]
    entries = [
        LibraryVector(record, load_vector(inside(folder, record["vector_path"])))
        for record in named
        if not layers or record["layer"] in layers
    ]
    if not entries:
        there = ", ".join(map(str, sorted({r["layer"] for r in named}))) or "none"
        raise DataError(
            what="no entry with a vector is left",
            where=str(folder),
            hint=f"vectors are there for layers: {there}",
        )
    return entries


def _library(run_dir: Path) -> list[Record]:
    """The library's entries, each with what its files are called."""
    records = read_entries(layout.library(run_dir) / "library.jsonl", "select")
    records = EntryNamer(layout.mine(run_dir)).named(records)
    named = [{**record, "file": f"lib_{place:05d}"} for place, record in enumerate(records)]
    return [{"lib_id": record["file"], **record} for record in named]


def _records(records: Sequence[Record], ids: Sequence[str], where: str) -> list[Record]:
    by_name = {record[key]: record for record in records for key in ("name", "tool_name", "lib_id")}
    for name in ids:
        if name not in by_name:
            close = get_close_matches(name, by_name, n=1)
            guess = f"; did you mean {close[0]}?" if close else ""
            raise DataError(what=f"no entry is called {name}{guess}", where=where, hint="see library.jsonl")
        if not by_name[name]["vector_path"]:
            raise DataError(
                what=f"{name} is of kind right: it speaks for not steering, and holds no vector",
                where=where,
                hint="pick entries of kind wrong",
            )
    return [by_name[name] for name in ids]


def as_layer_vectors(entries: Sequence[LibraryVector]) -> LayerVectors:
    """Their mean, layer by layer, with what they came from."""
    return LayerVectors(
        layer_means((entry.record["layer"], entry.vector) for entry in entries),
        notes={
            "method": "mean of ESM's entries"
            if len(entries) > 1
            else f"ESM's entry {entries[0].record['name']}",
            "entries": str(len(entries)),
        },
    )


@dataclass(frozen=True)
class Exported:
    """What was written. `strength`: how strongly ESM would add such a vector at a perfect match, before what probing
    adds: k_scale * beta * quality."""

    files: list[Path]
    entries: int
    layers: list[int]
    strength: float


def export(
    run: RunDirectory,
    form: str,
    out: Path,
    ids: Sequence[str] = (),
    layers: Sequence[int] = (),
    scale: float = 1.0,
    memory: bool = False,
) -> Exported:
    """Write the mean of the run's entries to the file `out`; with `memory` each entry to a file in the folder `out`,
    with its key and, unless `ids` are named, the entries of kind right. Raises DataError, DiskError."""
    check_scale(scale)
    entries = library_vectors(run.path, ids, layers)
    config = run.read().config
    model = str(config["model"].get("path") or config["model"]["backend"])
    online = config["online"]
    strength = (
        online["k_scale"] * online["beta"] * float(np.mean([entry.record["quality"] for entry in entries]))
    )
    groups = {out: entries}
    if memory:
        groups = {out / f"{entry.record['file']}{FORMATS[form].suffix}": [entry] for entry in entries}
    for path, group in groups.items():
        write_atomic(path, vector_file(form, as_layer_vectors(group), model, scale))
    if memory:
        lines = [
            {"file": path.name, **_line(group[0].record, run.path, out)} for path, group in groups.items()
        ]
        if not ids:
            lines += [
                {"kind": "right", **_line(record, run.path, out)}
                for record in _library(run.path)
                if not record["vector_path"] and (not layers or record["layer"] in layers)
            ]
        write_jsonl(out / "index.jsonl", lines)
    return Exported(list(groups), len(entries), sorted({e.record["layer"] for e in entries}), strength)


def check_scale(scale: float) -> None:
    """Raises DataError for a scale that no file can have."""
    if not abs(scale) <= float(np.finfo(np.float32).max):
        raise DataError(what=f"scale {scale} is no finite float32", where="--scale", hint="give another")


def _line(record: Record, run_dir: Path, out: Path) -> Record:
    """What the index says of an entry; its key is copied to `out`."""
    line = {name: record[name] for name in ("lib_id", "tool_name", "name", "layer", "quality")}
    line |= {"m": record["control_point_m"], "key": f"{record['file']}_key.pt"}
    key = load_vector(inside(layout.library(run_dir), record["key_path"]))
    write_atomic(out / line["key"], vector_bytes(key))
    return line
