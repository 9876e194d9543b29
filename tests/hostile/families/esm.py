"""ESM's own files between its stages: candidates, library, memory, pairs and answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from engine.esm.evaluation.answer_lines import checked_answers
from engine.esm.library.memory import EpisodicMemory
from engine.esm.lines import read_entries, read_mined, read_pairs
from engine.esm.vectors import vector_bytes
from engine.lm.protocol import ModelInfo
from tests.hostile.families.tensors import _npy
from tests.hostile.family import Family

_INFO = ModelInfo(
    name="m",
    backend="b",
    device="cpu",
    dtype="float32",
    num_layers=4,
    hidden_size=4,
    vocab_size=8,
    parameters=1,
    fingerprint="f",
)
_ROW: dict[str, Any] = {
    "lib_id": "lib_00000",
    "tool_name": "a_m1_l2_wrong",
    "kind": "wrong",
    "pair_id": "a_m1_l2",
    "example_id": "a",
    "control_point_m": 1,
    "layer": 2,
    "quality": 1.01,
    "source": "rollout",
    "key_path": "keys/a.pt",
    "vector_path": "vectors/a.pt",
    "model": "f",
}
_RIGHT = _ROW | {"tool_name": "a_m1_l2_right", "kind": "right", "vector_path": None, "lib_id": "lib_00001"}
_BUILT = json.dumps({"model": "f", "hidden_size": 4, "num_layers": 4}).encode()
_KEYS = np.eye(2, 4, dtype=np.float32)


def _lines(*rows: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def _memory(name: str):
    def read(data: bytes, folder: Path) -> object:
        library, memory = folder / "library", folder / "memory"
        (library / "vectors").mkdir(parents=True)
        memory.mkdir()
        (library / "vectors/a.pt").write_bytes(vector_bytes(_KEYS[0]))
        files = {"entries.jsonl": _lines(_ROW, _RIGHT), "memory.json": _BUILT, "keys.npy": _npy(_KEYS)}
        for file, content in (files | {name: data}).items():
            (memory / file).write_bytes(content)
        loaded = EpisodicMemory.load(memory, library, _INFO)
        states = np.ones((len(loaded.layers), 4), np.float32)
        return [loaded.similarities(m, states) for m in loaded.groups]

    return read


def _entries(data: bytes, folder: Path) -> object:
    (folder / "candidates.jsonl").write_bytes(data)
    return read_entries(folder / "candidates.jsonl", "mine")


def _kept(data: bytes, folder: Path) -> object:
    path = folder / "kept.jsonl"
    path.write_bytes(data)
    rows = [
        json.loads(line) for line in data.split(b"\n")[:-1] if line.startswith(b"{") and len(line) < 1 << 16
    ]
    return [read(rows, path) for read in (read_pairs, read_mined, checked_answers)]


_PAIR = {
    "pair_id": "a_m1_l2",
    "example_id": "a",
    "control_point_m": 1,
    "layer": 2,
    "quality": 1.0,
    "positives": 1,
    "negatives": 1,
    "source": "rollout",
    "model": "f",
    "steered_correct": True,
    "wrong_correct": False,
    "right_correct": True,
}
_MINED = {
    "example_id": "a",
    "question": "q",
    "gold": "1",
    "rollouts": [{"text": "t", "pred": "1", "correct": True, "reward": 1.0, "tokens": 5, "segments": 2}],
}
FAMILIES = [
    Family("entries of ESM", "lines", lambda: [_lines(_ROW, _RIGHT)], _entries),
    Family("memory's entries", "lines", lambda: [_lines(_ROW, _RIGHT)], _memory("entries.jsonl")),
    Family("memory.json", "json", lambda: [_BUILT], _memory("memory.json")),
    Family("memory's keys", "bytes", lambda: [_npy(_KEYS)], _memory("keys.npy")),
    Family(
        "pairs and answers of ESM",
        "lines",
        lambda: [_lines(_PAIR), _lines(_MINED), _lines(_PAIR, _MINED)],
        _kept,
        (ValueError, RecursionError),
    ),
]
