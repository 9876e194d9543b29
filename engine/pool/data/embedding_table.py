"""Reads precomputed embeddings, with or without ids: .npy (memory-mapped) and .safetensors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.array_file import load_array
from engine.errors import DataError, reading_errors
from engine.files import decoded
from engine.pool.data.vqa_files import VQAQuestion
from engine.regular_file import check_regular


def read_embeddings(path: Path, questions: Sequence[VQAQuestion]) -> NDArray[Any]:
    """Embeddings [len(questions), d] of the questions, in their order.

    A file without ids must hold exactly these rows in this order. Ids of questions or images, beside it in
    `<name>.ids.json`, pick the rows. A .npy is mapped, not read, unless ids pick rows. No file is opened as pickled
    code. Raises DataError for unusable files.
    """
    table, ids = _read(path), _ids_beside(path)
    if table.ndim != 2 or table.dtype.kind != "f" or not table.shape[1]:
        raise DataError(
            what=f"expected a table of floats, found {table.dtype} of shape {list(table.shape)}",
            where=str(path),
            hint="give [n, d]: a row for each question",
        )
    if ids is not None:
        if len(ids) != len(table):
            what = f"{len(ids)} ids for {len(table)} rows"
            raise DataError(what=what, where=str(path), hint="give one id for each row")
        return _picked(table, list(map(str, ids)), questions, path)
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


# ---------------------------------------------------------------- formats


def _read(path: Path) -> NDArray[Any]:
    """The table alone."""
    if path.suffix == ".safetensors":
        return _safetensors(path)
    with reading_errors(path, "no array", "save it with numpy.save", OSError, ValueError):
        return load_array(path, mapped=True)


def _ids_beside(path: Path) -> list[int | str] | None:
    """The ids, or None."""
    file = path.with_suffix(".ids.json")
    return decoded(file, list[int | str], "no ids", "give a list of ids") if file.is_file() else None


def _safetensors(path: Path) -> NDArray[Any]:
    import torch
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    with reading_errors(path, "no safetensors file", "copy it again", SafetensorError, OSError):
        check_regular(path)
        loaded = load_file(path)
    if len(loaded) != 1:
        raise DataError(
            what=f"holds {', '.join(loaded) or 'nothing'}: not one table",
            where=str(path),
            hint=f"save the embeddings [n, d] alone; ids of their rows go into {path.stem}.ids.json",
        )
    (tensor,) = loaded.values()
    known = not tensor.is_floating_point() or tensor.dtype in (torch.float16, torch.float32, torch.float64)
    return (tensor if known else tensor.float()).numpy()  # numpy does not know bfloat16
