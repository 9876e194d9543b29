"""Arrays and tensors, of users and of a run: .npy, .safetensors, .pt, and the graphs' LMDB."""

from __future__ import annotations

import io
import shutil
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import safetensors.numpy
import torch

from engine.esm.vectors import load_vector, vector_bytes
from engine.evolution.clusters.cluster_map import ClusterMap, load_cluster_map, save_cluster_map
from engine.evolution.clusters.imported_files import read_array
from engine.gflownet.agent_graphs.store import load_samples
from engine.gflownet.graphs.store import RetrievalRecord, RetrievalStore
from engine.gflownet.graphs.tables import EmbeddingTables
from engine.gflownet.layout import entity_embeddings, relation_embeddings
from engine.lm.embedding.text_embedding import embed_texts
from engine.pool.data.embedding_table import read_embeddings
from engine.pool.data.vqa_files import VQAQuestion
from engine.torch_file import load_torch
from tests.hostile.family import Family

_TABLE = np.arange(12, dtype=np.float32).reshape(3, 4) + 1
_QUESTIONS = [VQAQuestion(str(number), number + 10, "?", ("a",) * 4) for number in range(3)]


def _npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def _lying() -> bytes:
    """A header that claims 8 GB of numbers."""
    return _npy(np.zeros((3, 4), np.float32)).replace(b"(3, 4), }            ", b"(2000000000, 1), }   ")


def _pt(value: object) -> bytes:
    file = io.BytesIO()
    torch.save(value, file)
    return file.getvalue()


def _embeddings(suffix: str):
    def read(data: bytes, folder: Path) -> object:
        (folder / f"e{suffix}").write_bytes(data)
        return np.array(read_embeddings(folder / f"e{suffix}", _QUESTIONS))

    return read


def _ids(data: bytes, folder: Path) -> object:
    (folder / "e.npy").write_bytes(_npy(_TABLE))
    (folder / "e.ids.json").write_bytes(data)
    return read_embeddings(folder / "e.npy", _QUESTIONS)


def _array(data: bytes, folder: Path) -> object:
    (folder / "a.npy").write_bytes(data)
    return read_array(str(folder / "a.npy"), "clusters.embeddings")


def _tables(data: bytes, folder: Path) -> object:
    for path in (entity_embeddings(folder), relation_embeddings(folder)):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return EmbeddingTables.load(folder).width


def _kept(data: bytes, folder: Path) -> object:
    (folder / "k.npy").write_bytes(data)
    return embed_texts(["a", "b", "c"], lambda: None, folder / "k.npy", lambda: None, lambda _: None)  # type: ignore[arg-type]


def _clusters(data: bytes, folder: Path) -> object:
    """Both files are spoilt: the first byte says which."""
    save_cluster_map(ClusterMap(np.array([0, 1, 2, 255], np.uint8), 3, "v"), folder)
    (folder / ("cluster_ids.npy" if data.startswith(b"\x93") else "clusters.json")).write_bytes(data)
    return load_cluster_map(folder).sizes()


def _vector(data: bytes, folder: Path) -> object:
    (folder / "v.pt").write_bytes(data)
    return load_vector(folder / "v.pt", 4)


def _torch(data: bytes, folder: Path) -> object:
    (folder / "s.pt").write_bytes(data)
    return load_torch(folder / "s.pt", "run the stage again")


def _samples(data: bytes, folder: Path) -> object:
    (folder / "train.pt").write_bytes(data)
    return load_samples(folder / "train.pt")


@cache
def _store(sealed: bool) -> bytes:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "g"
        with RetrievalStore(folder, write=True) as store:
            record = RetrievalRecord(
                "a", "q", b"\0" * 8, b"\0" * 8, b"", b"", b"", b"", [0], [0], [0], b"\0" * 8, [], ["x"]
            )
            store.write("train", [record] * 3, {"entities": ["e"], "relations": ["r"]}, {"n": {"a": 1}})
            if sealed:
                store.seal()
        return (folder / "data.mdb").read_bytes()


def _lmdb(data: bytes, folder: Path) -> object:
    """Behind the seal of what stage `graphs` wrote: it alone stands between LMDB and bad pages."""
    whole = folder / "g"
    with RetrievalStore(whole, write=True) as store:
        store.seal()
    (whole / "data.mdb").write_bytes(data)
    try:
        with RetrievalStore(whole) as store:
            return store.count("train"), store.record("train", 0), store.names("entities"), store.note("n")
    finally:
        shutil.rmtree(whole)


def _state_bytes() -> list[bytes]:
    return [_pt({"module": {"w": torch.zeros(3)}, "step": 5, "best": None}), _pt([1, 2])]


FAMILIES = [
    Family("embeddings .npy", "bytes", lambda: [_npy(_TABLE), _lying()], _embeddings(".npy")),
    Family(
        "embeddings .safetensors",
        "bytes",
        lambda: [safetensors.numpy.save({"e": _TABLE})],
        _embeddings(".safetensors"),
    ),
    Family("ids of embeddings", "json", lambda: [b"[0, 1, 2]", b'["10", "11", "12"]'], _ids),
    Family("array", "bytes", lambda: [_npy(_TABLE), _npy(np.arange(5)), _lying()], _array),
    Family("tables of a run", "bytes", lambda: [_npy(_TABLE), _lying()], _tables),
    Family("kept embeddings", "bytes", lambda: [_npy(_TABLE), _lying()], _kept),
    Family(
        "clusters",
        "bytes",
        lambda: [
            _npy(np.array([0, 1, 2, 255], np.uint8)),
            b'{"vocab_size": 4, "clusters": 3, "sizes": [1, 1, 1], "vocabulary": "v"}',
        ],
        _clusters,
    ),
    Family("vector", "bytes", lambda: [vector_bytes(_TABLE[0])], _vector),
    Family("training state", "bytes", _state_bytes, _torch),
    Family("agent graphs", "bytes", _state_bytes, _samples),
    Family("retrieval graphs", "bytes", lambda: [_store(True)], _lmdb, (IndexError,)),
]
