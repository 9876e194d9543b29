"""Reads precomputed embeddings, with or without ids: .npy (memory-mapped), .npz, .pt and .safetensors."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.array_file import is_archive, load_array, load_arrays
from engine.errors import DataError, reading_errors
from engine.pool.data.vqa_files import VQAQuestion
from engine.regular_file import check_regular

_Named = Mapping[str, Any]
"""Arrays and lists of ids, by their names in a file."""


def read_embeddings(path: Path, questions: Sequence[VQAQuestion]) -> NDArray[Any]:
    """Embeddings [len(questions), d] of the questions, in their order.

    A file without ids must hold exactly these rows in this order. Ids of questions or images (in the file, or beside a
    .npy in `<name>.ids.json` or `<name>.ids.npy`) pick the rows. A .npy is mapped, not read, unless ids pick rows. No
    file is opened as pickled code. Raises DataError for unusable files.
    """
    table, ids = _read(path)
    if table.ndim != 2 or table.dtype.kind != "f" or not table.shape[1]:
        raise DataError(
            what=f"expected a table of floats, found {table.dtype} of shape {list(table.shape)}",
            where=str(path),
            hint="give [n, d]: a row for each question",
        )
    if ids is not None:
        return _picked(table, _keys(ids, len(table), path), questions, path)
    if len(table) != len(questions):
        raise DataError(
            what=f"{len(table)} rows of embeddings for {len(questions)} questions",
            where=str(path),
            hint="give the embeddings of these questions, in the order of their file, or ids with them",
        )
    return table


def _picked(
    table: NDArray[Any], keys: list[str], questions: Sequence[VQAQuestion], path: Path
) -> NDArray[Any]:
    place = {key: row for row, key in enumerate(keys)}
    if len(place) < len(keys):
        twice = next(key for row, key in enumerate(keys) if place[key] != row)
        raise DataError(
            what=f"the id {twice} occurs twice", where=str(path), hint="give every row its own id"
        )
    by_question = [place.get(question.question_id) for question in questions]
    by_image = [place.get(str(question.image_id)) for question in questions]
    rows = min(by_question, by_image, key=lambda picked: picked.count(None))
    if None in rows:
        lost = questions[rows.index(None)]
        raise DataError(
            what=f"{rows.count(None)} of {len(rows)} questions have no embedding: neither question {lost.question_id} "
            f"nor its image {lost.image_id} is among the ids",
            where=str(path),
            hint="embed these questions, or their images, too",
        )
    return table if rows == list(range(len(table))) else table[np.array(rows, dtype=np.int64)]


def _keys(ids: Any, rows: int, path: Path) -> list[str]:
    keys = ids.tolist() if isinstance(ids, np.ndarray) else ids
    good = isinstance(keys, list) and all(isinstance(key, int | str) for key in keys)
    if not good or len(keys) != rows:
        what = f"{len(keys)} ids" if good else "ids that are neither numbers nor texts"
        raise DataError(what=f"{what} for {rows} rows", where=str(path), hint="give one id for each row")
    return [str(key) for key in keys]


# ---------------------------------------------------------------- formats


def _read(path: Path) -> tuple[NDArray[Any], Any]:
    """The table, and its ids or None."""
    if path.suffix in (".pt", ".pth"):
        return _only_table(_torch(path), path)
    if path.suffix == ".safetensors":
        return _only_table(_safetensors(path), path)
    loaded = _numpy(path)
    return (loaded, _ids_beside(path)) if isinstance(loaded, np.ndarray) else _only_table(loaded, path)


def _only_table(named: _Named, path: Path) -> tuple[NDArray[Any], Any]:
    """The only two-dimensional array and the only list of ids, under any names."""
    tables = {
        name: value for name, value in named.items() if isinstance(value, np.ndarray) and value.ndim > 1
    }
    ids = {name: value for name, value in named.items() if name not in tables and _is_list(value)}
    if len(tables) != 1 or len(ids) > 1:
        raise DataError(
            what=f"holds {', '.join(named) or 'nothing'}: not one table and its ids",
            where=str(path),
            hint="save the embeddings [n, d] and, if their order is another, the ids [n]",
        )
    return next(iter(tables.values())), next(iter(ids.values()), None)


def _is_list(value: Any) -> bool:
    return isinstance(value, list) or (isinstance(value, np.ndarray) and value.ndim == 1)


def _numpy(path: Path) -> NDArray[Any] | _Named:
    """The array of a .npy, or the arrays of a .npz by name."""
    with reading_errors(path, "no array", "save it with numpy.save or numpy.savez", OSError, ValueError):
        return load_arrays(path) if is_archive(path) else load_array(path, mapped=True)


def _ids_beside(path: Path) -> Any:
    if (file := path.with_suffix(".ids.npy")).is_file():
        return _numpy(file)
    if not (file := path.with_suffix(".ids.json")).is_file():
        return None
    with reading_errors(file, "no JSON", "give a list of ids", ValueError, RecursionError):
        return json.loads(file.read_bytes())


def _torch(path: Path) -> _Named:
    import torch

    from engine.torch_file import load_tensors

    # Mapped: a table of gigabytes must not be in memory twice.
    loaded = load_tensors(path, "no tensor", "save tensors with torch.save", mapped=True)
    if isinstance(loaded, torch.Tensor):
        loaded = {"embeddings": loaded}
    if not isinstance(loaded, dict):
        raise DataError(
            what=f"holds {type(loaded).__name__}, not a tensor",
            where=str(path),
            hint="save one with torch.save",
        )
    return {str(name): _array(value, path) for name, value in loaded.items()}


def _safetensors(path: Path) -> _Named:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    with reading_errors(path, "no safetensors file", "copy it again", SafetensorError, OSError):
        check_regular(path)
        return {name: _array(value, path) for name, value in load_file(path).items()}


def _array(value: Any, path: Path) -> Any:
    """A tensor as an array, with floats that numpy does not know (bfloat16) as float32; any other value unchanged.
    Raises DataError for a tensor that is no plain one, or has more places than numbers."""
    import torch

    if not isinstance(value, torch.Tensor):
        return value
    known = not value.is_floating_point() or value.dtype in (torch.float16, torch.float32, torch.float64)
    try:
        if value.numel() * value.element_size() > value.untyped_storage().nbytes():
            raise TypeError("it repeats the same numbers")
        return (value if known else value.float()).detach().resolve_conj().resolve_neg().numpy()
    except (TypeError, RuntimeError, NotImplementedError) as error:
        raise DataError(
            what=f"holds a tensor ({value.dtype}, {value.layout}) that is not a plain table: "
            f"{str(error).splitlines()[0][:200]}",
            where=str(path),
            hint="save plain floats: torch.save(table.to_dense().float().contiguous().cpu(), FILE)",
        ) from error
