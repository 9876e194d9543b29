"""GGUF control vectors, as llama.cpp, repeng and EasySteer read them: `direction.N` for 0-based layer N.

llama.cpp adds `direction.N` to the output of its block N, also counted from 0 (its loader and its adapter each subtract
one, and the two cancel), and refuses N = 0. It takes float32 of one dimension alone and reads no key. repeng wants the
key `controlvector.model_hint`, and reads N = 0 as well.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

from engine.errors import DataError, reading_errors
from engine.vectors.layer_vectors import LayerVectors, as_vector

ARCHITECTURE = "controlvector"
_NAME = re.compile(r"direction\.(\d+)")


def gguf_bytes(vectors: LayerVectors, model: str) -> bytes:
    """The file's content. Raises DataError if the package is missing."""
    writer_of = _package().GGUFWriter
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "vectors.gguf"
        writer = writer_of(path, ARCHITECTURE)
        writer.add_string(f"{ARCHITECTURE}.model_hint", model)
        writer.add_uint32(f"{ARCHITECTURE}.layer_count", len(vectors.layers))
        for name, text in vectors.notes.items():
            writer.add_string(f"{ARCHITECTURE}.{name}", text)
        for layer, vector in vectors.numbered():
            writer.add_tensor(f"direction.{layer}", vector)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return path.read_bytes()


def read_gguf(path: Path) -> LayerVectors:
    """The vectors of a control vector file. Raises DataError for anything else."""
    kinds = (ValueError, OSError, IndexError, KeyError, OverflowError)
    with reading_errors(path, "this is not a readable GGUF file", "export the vectors again", *kinds):
        reader = _package().GGUFReader(path)
    vectors = {
        int(match[1]): as_vector(_plain(tensor, path), f"{path}: {tensor.name}")
        for tensor in reader.tensors
        if (match := _NAME.fullmatch(tensor.name))
    }
    if not vectors:
        raise DataError(
            what="the GGUF file has no tensor `direction.N`: it is not a control vector",
            where=str(path),
            hint="name a control vector, not a model",
        )
    return LayerVectors(vectors)


def _plain(tensor: Any, path: Path) -> Any:
    if tensor.tensor_type.name not in ("F32", "F16", "F64"):
        raise DataError(
            what=f"`{tensor.name}` is stored as {tensor.tensor_type.name}",
            where=str(path),
            hint="export the vectors as float32, the only form that llama.cpp takes",
        )
    return tensor.data


def _package() -> Any:
    try:
        import gguf
    except ImportError as error:
        raise DataError(
            what="GGUF files need the package `gguf`", where="export", hint="pip install 'steer-tui[gguf]'"
        ) from error
    return gguf
