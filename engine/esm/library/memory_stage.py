"""Stage III: the library becomes a table of keys that can be searched (spec ESM 5)."""

from __future__ import annotations

import io
import json
from collections import Counter
from typing import Any

import msgspec
import numpy as np

from engine.errors import DataError
from engine.esm import layout
from engine.esm.library.entry_names import EntryNamer
from engine.esm.library.memory import MemoryModel
from engine.esm.lines import read_entries
from engine.esm.vectors import load_vector
from engine.events import MemoryBuilt
from engine.files import inside, write_atomic, write_jsonl
from engine.run.stage import StageContext, StageResult


class BuildMemory:
    """Writes keys.npy, entries.jsonl and memory.json (which model the keys are states of)."""

    name = "memory"

    def run(self, context: StageContext) -> StageResult:
        """Recomputed whole on resume; the three files are written atomically, memory.json last."""
        library_dir, memory_dir = layout.library(context.run_dir), layout.memory(context.run_dir)
        info = context.model_info()
        library = read_entries(library_dir / "library.jsonl", "select")
        wrong_model = sorted({record["model"] for record in library} - {info.fingerprint})
        if wrong_model:
            raise DataError(
                what=f"the library was mined with another model ({wrong_model[0]}, here {info.fingerprint})",
                where=str(library_dir),
                hint="mine again with this model",
            )
        context.start(len(library), unit="entries")
        raw = [load_vector(inside(library_dir, r["key_path"]), info.hidden_size) for r in library]
        library = EntryNamer(layout.mine(context.run_dir)).named(library)
        keys = np.stack(raw) if raw else np.zeros((0, info.hidden_size), dtype=np.float32)
        if context.config.offline_memory.normalize_keys:
            keys = keys / np.maximum(np.linalg.norm(keys, axis=1, keepdims=True), 1e-12)
        buffer = io.BytesIO()
        np.save(buffer, keys.astype(np.float32))
        write_atomic(memory_dir / "keys.npy", buffer.getvalue())
        write_jsonl(memory_dir / "entries.jsonl", library)
        built = msgspec.to_builtins(MemoryModel(info.fingerprint, info.hidden_size, info.num_layers))
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


def _by_control_point(library: list[dict[str, Any]]) -> dict[str, list[int]]:
    counts = Counter((record["control_point_m"], record["kind"]) for record in library)
    return {str(m): [counts[m, "wrong"], counts[m, "right"]] for m in sorted({m for m, _ in counts})}
