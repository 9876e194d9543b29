"""ESM's library as static vectors, for tools that add the same vector wherever they steer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np

from engine.errors import DataError
from engine.esm import layout
from engine.esm.entry_names import EntryNamer
from engine.esm.lines import read_entries
from engine.esm.vectors import load_vector, vector_bytes
from engine.files import inside, write_atomic, write_jsonl
from engine.lm.protocol import Vector
from engine.run.directory import RunDirectory
from engine.vectors.formats import vector_file
from engine.vectors.layer_vectors import LayerVectors
from engine.vectors.names import FORMATS


@dataclass(frozen=True)
class LibraryVector:
    """An entry of kind wrong; entries of kind right hold no vector, and are not among these. `file`: the beginning of
    the names of its files, of its place in the library alone: what the library calls it may be any path. `name`: in a
    few words what it turns; `m`: its control point."""

    file: str
    lib_id: str
    tool_name: str
    name: str
    layer: int
    quality: float
    vector: Vector
    m: int = 0
    key_path: str = ""


def library_vectors(
    run_dir: Path, ids: Sequence[str] = (), layers: Sequence[int] = ()
) -> list[LibraryVector]:
    """The entries with a vector, in the library's order: all, or those with `ids` (lib_id, tool name or name), of
    `layers` if any are named. Raises DataError for an id without a vector, and where nothing is left."""
    folder = layout.library(run_dir)
    records = _library(run_dir)
    wanted = _records(records, ids, str(folder)) if ids else [r for r in records if r["vector_path"]]
    found = [
        LibraryVector(
            record["file"],
            record["lib_id"],
            record["tool_name"],
            record["name"],
            record["layer"],
            record["quality"],
            load_vector(inside(folder, record["vector_path"])),
            record["control_point_m"],
            record["key_path"],
        )
        for record in wanted
        if not layers or record["layer"] in layers
    ]
    if not found:
        there = ", ".join(map(str, sorted({r["layer"] for r in wanted}))) or "none"
        raise DataError(
            what="no entry with a vector is left",
            where=str(folder),
            mend=f"vectors are there for layers: {there}",
        )
    return found


def _library(run_dir: Path) -> list[dict[str, Any]]:
    """The library's entries, each with what its files are called."""
    records = read_entries(layout.library(run_dir) / "library.jsonl", "select")
    records = EntryNamer(layout.mine(run_dir)).named(records)
    named = [{**record, "file": f"lib_{place:05d}"} for place, record in enumerate(records)]
    return [{"lib_id": record["file"], **record} for record in named]


def _records(records: Sequence[dict[str, Any]], ids: Sequence[str], where: str) -> list[dict[str, Any]]:
    by_name = {record[key]: record for record in records for key in ("name", "tool_name", "lib_id")}
    for name in ids:
        if name not in by_name:
            close = get_close_matches(name, by_name, n=1)
            guess = f"; did you mean {close[0]}?" if close else ""
            raise DataError(what=f"no entry is called {name}{guess}", where=where, mend="see library.jsonl")
        if not by_name[name]["vector_path"]:
            raise DataError(
                what=f"{name} is of kind right: it speaks for not steering, and holds no vector",
                where=where,
                mend="pick entries of kind wrong",
            )
    return [by_name[name] for name in ids]


def mean_by_layer(entries: Sequence[LibraryVector]) -> dict[int, Vector]:
    """Layer -> mean of the vectors, as the control variant `mean_vector` takes it."""
    layers = sorted({entry.layer for entry in entries})
    return {
        layer: np.stack([e.vector for e in entries if e.layer == layer]).mean(axis=0, dtype=np.float32)
        for layer in layers
    }


def as_layer_vectors(entries: Sequence[LibraryVector]) -> LayerVectors:
    """Their mean, layer by layer, with what they came from."""
    return LayerVectors(
        mean_by_layer(entries),
        notes={
            "method": "mean of ESM's entries" if len(entries) > 1 else f"ESM's entry {entries[0].name}",
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
    each: bool = False,
    hookpoint: str = "layers.{N}",
    memory: bool = False,
) -> Exported:
    """Write the mean of the run's entries to the file `out`, or each entry to a file in the folder `out`; with `memory`
    also their keys and, unless `ids` are named, the entries of kind right. Raises DataError, DiskError."""
    if not np.isfinite(scale) or "{N}" not in hookpoint:
        raise DataError(
            what=f"scale {scale} or hookpoint {hookpoint!r} cannot be used",
            where="export",
            mend="give a finite --scale, and a --hookpoint with {N}",
        )
    entries = library_vectors(run.path, ids, layers)
    config = run.read().config
    model = str(config["model"].get("path") or config["model"]["backend"])
    online = config["online"]
    strength = online["k_scale"] * online["beta"] * float(np.mean([entry.quality for entry in entries]))
    groups = {out: entries}
    if each:
        groups = {out / f"{entry.file}{FORMATS[form].suffix}": [entry] for entry in entries}
    for path, own in groups.items():
        write_atomic(path, vector_file(form, as_layer_vectors(own), model, scale, hookpoint))
    if each:
        lines = [_line(path, own[0]) for path, own in groups.items()]
        if memory:
            for line, entry in zip(lines, entries, strict=True):
                line |= {"m": entry.m, "key": _copied_key(run.path, entry.key_path, out, entry.file)}
            lines += _right_entries(run.path, out, layers) if not ids else []
        write_jsonl(out / "index.jsonl", lines)
    return Exported(list(groups), len(entries), sorted({entry.layer for entry in entries}), strength)


def _line(path: Path, entry: LibraryVector) -> dict[str, Any]:
    return {
        "file": path.name,
        "lib_id": entry.lib_id,
        "tool_name": entry.tool_name,
        "name": entry.name,
        "layer": entry.layer,
        "quality": entry.quality,
    }


def _copied_key(run_dir: Path, key_path: str, out: Path, file: str) -> str:
    """The key of an entry beside its vector; the name of its file."""
    name = f"{file}_key.pt"
    write_atomic(out / name, vector_bytes(load_vector(inside(layout.library(run_dir), key_path))))
    return name


def _right_entries(run_dir: Path, out: Path, layers: Sequence[int]) -> list[dict[str, Any]]:
    """Lines of the entries that speak for leaving a segment alone."""
    return [
        {
            "kind": "right",
            "lib_id": record["lib_id"],
            "tool_name": record["tool_name"],
            "name": record["name"],
            "layer": record["layer"],
            "quality": record["quality"],
            "m": record["control_point_m"],
            "key": _copied_key(run_dir, record["key_path"], out, record["file"]),
        }
        for record in _library(run_dir)
        if not record["vector_path"] and (not layers or record["layer"] in layers)
    ]
