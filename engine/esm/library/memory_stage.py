"""Stage III: the library becomes a table of keys that can be searched (spec ESM 5)."""

from __future__ import annotations

import hashlib
import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from engine.errors import DataError
from engine.esm import layout
from engine.esm.library.entry_names import EntryNamer
from engine.esm.library.imported import has_texts, keys_of, read_imports
from engine.esm.library.memory import MemoryModel
from engine.esm.lines import Record, read_entries
from engine.esm.vectors import load_vector, vector_bytes
from engine.events import MemoryBuilt
from engine.files import inside, write_atomic, write_jsonl
from engine.lm.protocol import Vector
from engine.run.stage import StageContext, StageResult


class BuildMemory:
    """Writes keys.npy, entries.jsonl and memory.json (which model the keys are states of, and their digest)."""

    def run(self, context: StageContext) -> StageResult:
        """Recomputed whole on resume; the three files are written atomically, memory.json last."""
        library_dir, memory_dir = layout.library(context.run_dir), layout.memory(context.run_dir)
        info = context.model_info()
        imports = context.config.offline_memory.imports
        library: list[Record] = []
        if imports is None or (library_dir / "library.jsonl").exists():
            library = read_entries(library_dir / "library.jsonl", "select", info.num_layers)
        wrong_model = sorted({record["model"] for record in library} - {info.fingerprint})
        if wrong_model:
            raise DataError(
                what=f"the library was mined with another model ({wrong_model[0]}, here {info.fingerprint})",
                where=str(library_dir),
                hint="mine again with this model",
            )
        context.start(len(library), unit="entries")
        raw = [load_vector(inside(library_dir, r["key_path"]), info.hidden_size) for r in library]
        if imports is not None:
            rows, more = _import(Path(imports).expanduser(), context, library, raw)
            library, raw = [*library, *rows], [*raw, *more]
        library = EntryNamer(layout.mine(context.run_dir)).named(library)
        keys = np.stack(raw) if raw else np.zeros((0, info.hidden_size), dtype=np.float32)
        if context.config.offline_memory.normalize_keys:
            keys = keys / np.maximum(np.linalg.norm(keys, axis=1, keepdims=True), 1e-12)
        buffer = io.BytesIO()
        np.save(buffer, keys.astype(np.float32))
        write_atomic(memory_dir / "keys.npy", buffer.getvalue())
        digest = hashlib.sha256(buffer.getvalue()).hexdigest()
        write_jsonl(memory_dir / "entries.jsonl", library)
        built = msgspec.to_builtins(MemoryModel(info.fingerprint, info.hidden_size, info.num_layers, digest))
        write_atomic(memory_dir / "memory.json", json.dumps(built, indent=2) + "\n")
        counts = _by_control_point(library)
        layers = sorted({record["layer"] for record in library})
        context.emit(
            MemoryBuilt(
                entries=len(library), hidden_size=info.hidden_size, layers=layers, by_control_point=counts
            )
        )
        context.progress(len(library), len(library))
        files = [f"esm/memory/{name}" for name in ("keys.npy", "entries.jsonl", "memory.json")]
        return StageResult({"entries": len(library), "control_points": len(counts)}, files)


def _import(
    path: Path, context: StageContext, library: list[Record], keys: list[Vector]
) -> tuple[list[Record], list[Vector]]:
    """Rows and keys of the entries that `path` names; their vectors are put beside the library's."""
    info, folder = context.model_info(), layout.library(context.run_dir)
    model = context.load_model(context.config.model) if has_texts(path) else None
    entries = read_imports(path, context.config, info, model)
    rows: list[Record] = []
    row_keys: list[Vector] = []
    for number, (entry, entry_keys) in enumerate(
        zip(entries, keys_of(entries, model, library, keys), strict=True)
    ):
        context.checkpoint()
        vector_path = None if entry.vector is None else f"vectors/imported_{number:05d}.pt"
        if vector_path is not None and entry.vector is not None:
            write_atomic(folder / vector_path, vector_bytes(entry.vector))
        for place, (m, key) in enumerate(zip(entry.points, entry_keys, strict=True)):
            key_path = f"keys/imported_{number:05d}_{place}.pt"
            write_atomic(folder / key_path, vector_bytes(key))
            rows.append(
                {
                    "tool_name": entry.tool_name if len(entry.points) == 1 else f"{entry.tool_name}_m{m}",
                    "name": entry.name,
                    "kind": "right" if entry.vector is None else "wrong",
                    "example_id": "imported",
                    "control_point_m": m,
                    "layer": entry.layer,
                    "quality": entry.quality,
                    "key_path": key_path,
                    "vector_path": vector_path,
                    "model": info.fingerprint,
                }
            )
            row_keys.append(key)
    _check_names([*library, *rows], path)
    return rows, row_keys


def _check_names(rows: list[Record], path: Path) -> None:
    twice = [name for name, count in Counter(row["tool_name"] for row in rows).items() if count > 1]
    if twice:
        raise DataError(
            what=f"{len(twice)} entries are called as another one is, {twice[0]} among them",
            where=str(path),
            hint="give each a `tool_name` of its own",
        )


def _by_control_point(library: list[dict[str, Any]]) -> dict[str, list[int]]:
    counts = Counter((record["control_point_m"], record["kind"]) for record in library)
    return {str(m): [counts[m, "wrong"], counts[m, "right"]] for m in sorted({m for m, _ in counts})}
