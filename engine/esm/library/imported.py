"""Vectors of other tools as entries of the memory: `offline_memory.imports` names a file of JSON lines, an entry a
line.

- `name`: what it is called, in a few words; without it, its `tool_name`
- `file`: the vector, in any form of `engine.vectors`, relative to the file of lines; one with several layers and no
  `layer` makes an entry for each. An entry of `kind` right has none: it speaks for leaving a segment alone
- `layer`, `quality` (1), `scale` (1: what the vector is multiplied by), `m`: control points (one, or a list; none: all)
- the key, a state like those before which the entry is to be used: `text` with or without `prompt`, read with the model
  at the last token; or `key`, a `.pt` file; without them the mean of the library's wrong keys at the same layer and, if
  there are any, the same control point
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np

from engine.config.config import Config
from engine.errors import DataError
from engine.esm.baselines.prompt_pairs import state_tokens
from engine.esm.lines import Record
from engine.esm.vectors import load_vector
from engine.files import converted, inside
from engine.lm.protocol import LanguageModel, ModelInfo, Vector
from engine.tasks.records import read_records
from engine.vectors.formats import read_vectors
from engine.vectors.layer_vectors import the_vector

_HINT = "see engine/esm/README.md, Vectors in and out"


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    file: str | None = None
    kind: Literal["wrong", "right"] = "wrong"
    tool_name: str | None = None
    name: str = ""
    lib_id: str | None = None
    layer: int | None = None
    quality: float = 1.0
    scale: float = 1.0
    m: int | list[int] | None = None
    key: str | None = None
    prompt: str | None = None
    text: str | None = None


@dataclass(frozen=True)
class Imported:
    """An entry to be. `key` None: the default. `tokens`: the text whose last state is its key."""

    tool_name: str
    where: str
    layer: int
    points: tuple[int, ...]
    quality: float
    vector: Vector | None
    key: Vector | None = None
    tokens: tuple[int, ...] = ()
    name: str = ""


def read_imports(path: Path, config: Config, info: ModelInfo, model: LanguageModel | None) -> list[Imported]:
    """The entries of the file. `model`: where a line has a text. Raises DataError with file and line."""
    entries: list[Imported] = []
    for number, (where, record) in enumerate(read_records(path), 1):
        line = _line(where, record, info)
        tokens: tuple[int, ...] = ()
        if line.text is not None:
            assert model is not None
            tokens = tuple(state_tokens(model, line.prompt, line.text, config.prompt.system))
        key = load_vector(inside(path.parent, line.key), info.hidden_size) if line.key else None
        every = range(1, config.control_points.M)
        points = tuple([line.m] if isinstance(line.m, int) else every if line.m is None else line.m)
        for layer, vector in _vectors(line, path, where, info):
            name = line.tool_name or f"imported_{number:05d}_l{layer}"
            entries.append(Imported(name, where, layer, points, line.quality, vector, key, tokens, line.name))
    if not entries:
        raise DataError(what="the file names no entries", where=str(path), hint=_HINT)
    return entries


def has_texts(path: Path) -> bool:
    """Whether a line of the file has a text, for which the model is needed."""
    return any(record.get("text") is not None for _, record in read_records(path))


def _line(where: str, record: dict[str, Any], info: ModelInfo) -> _Line:
    line = converted(record, _Line, where, _HINT)
    points = [line.m] if isinstance(line.m, int) else line.m or []
    keys, last = (line.key is not None) + (line.text is not None), info.num_layers - 1
    most = float(np.finfo(np.float32).max)
    finite = -1 < line.quality <= most and abs(line.scale) <= most
    there = line.layer is None or 0 <= line.layer <= last
    placed = line.layer is not None and keys > 0
    problems = {
        "a wrong entry has a `file`, a right one has none": (line.kind == "wrong") != (line.file is not None),
        "a right entry needs `layer`, and `text` or `key`": line.kind == "right" and not placed,
        "`key` and `text` both say what its key is": keys == 2,
        "`prompt` without `text`": line.prompt is not None and line.text is None,
        "`quality` (above -1) and `scale` are finite in float32": not finite,
        "`m` counts control points from 1": any(not 1 <= m <= 1_000_000 for m in points),
        f"layer {line.layer} does not exist: the model has layers 0 to {last}": not there,
    }
    for problem, holds in problems.items():
        if holds:
            raise DataError(what=problem, where=where, hint=_HINT)
    return line


def _vectors(line: _Line, path: Path, where: str, info: ModelInfo) -> list[tuple[int, Vector | None]]:
    if line.file is None:
        assert line.layer is not None
        return [(line.layer, None)]
    file = path.parent / Path(line.file).expanduser()
    vectors = read_vectors(file)
    if line.layer is None and vectors.unplaced is not None:
        raise DataError(what=f"{file.name} does not say its layer", where=where, hint="say it: `layer`")
    layers = vectors.layers if line.layer is None else [line.layer]
    placed = [the_vector(vectors, file, n, info.hidden_size, info.num_layers, "`layer`") for n in layers]
    return [(layer, np.float32(line.scale) * vector) for layer, vector in placed]


def keys_of(
    entries: Sequence[Imported],
    model: LanguageModel | None,
    library: Sequence[Record],
    keys: Sequence[Vector],
) -> list[list[Vector]]:
    """For each entry its key at each of its control points. Raises DataError where there is nothing to go by."""
    by_entry: list[list[Vector]] = []
    for entry in entries:
        if entry.tokens:
            assert model is not None
            states = model.states([entry.tokens], [[len(entry.tokens) - 1]], [entry.layer])
            by_entry.append([states[0][0, 0]] * len(entry.points))
        elif entry.key is not None:
            by_entry.append([entry.key] * len(entry.points))
        else:
            by_entry.append([_default(entry, m, library, keys) for m in entry.points])
    return by_entry


def _default(entry: Imported, m: int, library: Sequence[Record], keys: Sequence[Vector]) -> Vector:
    wrong = [
        (row["control_point_m"], key)
        for row, key in zip(library, keys, strict=True)
        if row["kind"] == "wrong" and row["layer"] == entry.layer
    ]
    alike = [key for point, key in wrong if point == m] or [key for _, key in wrong]
    if not alike:
        raise DataError(
            what=f"nothing says when to use this entry, and the library has no wrong keys at layer {entry.layer}",
            where=entry.where,
            hint="give a `text` (with `prompt`), or a `key`",
        )
    return np.stack(alike).mean(axis=0, dtype=np.float32)
