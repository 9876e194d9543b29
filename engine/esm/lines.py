"""ESM's JSON-lines files, each line checked for what the stages take from it: a value of another kind, a NaN or a layer
that is not there is one error that names file, line and field."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from engine.errors import DataError
from engine.files import read_whole_jsonl, required, typed

Record = dict[str, Any]

_Text = Annotated[str, msgspec.Meta(min_length=1)]
Count = Annotated[int, msgspec.Meta(ge=0, le=1 << 53)]
_Point = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
"""A control point: numpy has no integers without bounds."""
_Reward = Annotated[float, msgspec.Meta(gt=-1, le=sys.float_info.max)]


class _Entry(msgspec.Struct):
    """A line of candidates.jsonl, library.jsonl, entries.jsonl."""

    tool_name: _Text
    kind: Literal["wrong", "right"]
    example_id: str
    control_point_m: _Point
    layer: Count
    quality: _Reward
    key_path: str
    vector_path: str | None
    model: str
    lib_id: str | None = None
    name: str = ""


class _Pair(msgspec.Struct):
    """A line of pairs.jsonl."""

    pair_id: _Text
    example_id: str
    control_point_m: _Point
    layer: Count
    quality: _Reward
    source: str
    model: str
    steered_correct: bool = False
    wrong_correct: bool = False
    right_correct: bool = False


class _Rollout(msgspec.Struct):
    correct: bool
    segments: Count


class _Mined(msgspec.Struct):
    """A line of rollouts.jsonl."""

    example_id: str
    rollouts: list[_Rollout]


def read_entries(path: Path, stage: str, num_layers: int | None = None) -> list[Record]:
    """The entries of a file that `stage` wrote whole, each once. `num_layers`: of the model, where it is known. Raises
    DataError."""
    hint = f"run the stage `{stage}` again, which writes this file"
    rows = read_whole_jsonl(required(path, stage), hint)
    seen: dict[str, int] = {}
    for number, entry in enumerate(typed(rows, _Entry, path, hint), 1):
        where = f"{path}:{number}"
        _check_entry(entry, where, hint, num_layers)
        if (first := seen.setdefault(entry.tool_name, number)) != number:
            raise DataError(
                what=f"`tool_name`: the entry of line {first} stands here once more", where=where, hint=hint
            )
    return rows


def read_pairs(rows: Sequence[Record], path: Path) -> list[Record]:
    """Lines of pairs.jsonl. Raises DataError."""
    typed(rows, _Pair, path)
    return list(rows)


def read_mined(rows: Sequence[Record], path: Path) -> list[Record]:
    """Lines of rollouts.jsonl. Raises DataError."""
    typed(rows, _Mined, path)
    return list(rows)


def _check_entry(entry: _Entry, where: str, hint: str, num_layers: int | None) -> None:
    if num_layers is not None and entry.layer >= num_layers:
        what = f"`layer` is {entry.layer}: the model has layers 0 to {num_layers - 1}"
    elif (entry.kind == "wrong") != (entry.vector_path is not None):
        what = f"`vector_path` is {entry.vector_path!r}: a wrong entry has a vector, a right one has none"
    else:
        return
    raise DataError(what=what, where=where, hint=hint)
