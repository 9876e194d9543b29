"""ESM's JSON-lines files, each line checked for what the stages take from it: a value of another kind, a NaN or a layer
that is not there is one error that names file, line and field."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import msgspec

from engine.errors import DataError
from engine.esm.layout import required
from engine.files import read_whole_jsonl

Record = dict[str, Any]
Line = TypeVar("Line", bound=msgspec.Struct)

KEPT_HINT = "restore the file, or remove it and run its stage again"
_Text = Annotated[str, msgspec.Meta(min_length=1)]
Count = Annotated[int, msgspec.Meta(ge=0, le=1 << 53)]
_Point = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
"""A control point: numpy has no integers without bounds."""


class _Entry(msgspec.Struct):
    """A line of candidates.jsonl, library.jsonl, entries.jsonl."""

    tool_name: _Text
    kind: Literal["wrong", "right"]
    example_id: str
    control_point_m: _Point
    layer: Count
    quality: float
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
    quality: float
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
    for number, row in enumerate(rows, 1):
        where = f"{path}:{number}"
        entry = _checked(row, _Entry, where, hint)
        _check_entry(entry, where, hint, num_layers)
        if (first := seen.setdefault(entry.tool_name, number)) != number:
            raise DataError(
                what=f"`tool_name`: the entry of line {first} stands here once more", where=where, hint=hint
            )
    return rows


def read_pairs(rows: Sequence[Record], path: Path) -> list[Record]:
    """Lines of pairs.jsonl. Raises DataError."""
    return _all(rows, _Pair, path)


def read_mined(rows: Sequence[Record], path: Path) -> list[Record]:
    """Lines of rollouts.jsonl. Raises DataError."""
    return _all(rows, _Mined, path)


def _check_entry(entry: _Entry, where: str, hint: str, num_layers: int | None) -> None:
    if num_layers is not None and entry.layer >= num_layers:
        what = f"`layer` is {entry.layer}: the model has layers 0 to {num_layers - 1}"
    elif entry.quality <= -1:
        what = f"`quality` is {entry.quality:g}, which no reward can be (above -1)"
    elif (entry.kind == "wrong") != (entry.vector_path is not None):
        what = f"`vector_path` is {entry.vector_path!r}: a wrong entry has a vector, a right one has none"
    else:
        return
    raise DataError(what=what, where=where, hint=hint)


def _all(rows: Sequence[Record], kind: type[msgspec.Struct], path: Path) -> list[Record]:
    converted(rows, kind, path)
    return list(rows)


def converted(rows: Sequence[Record], kind: type[Line], path: Path) -> list[Line]:
    """The rows of a file that a stage goes on with. Raises DataError naming line and field."""
    return [_checked(row, kind, f"{path}:{number}", KEPT_HINT) for number, row in enumerate(rows, 1)]


def _checked(row: Record, kind: type[Line], where: str, hint: str) -> Line:
    """The row as `kind`. Raises DataError naming the field."""
    try:
        line = msgspec.convert(row, kind)
    except msgspec.ValidationError as error:
        raise DataError(what=_in_words(error), where=where, hint=hint) from error
    for name, value in msgspec.structs.asdict(line).items():
        if isinstance(value, float) and not math.isfinite(value):
            raise DataError(what=f"`{name}` is {value}, not a finite number", where=where, hint=hint)
    return line


def _in_words(error: msgspec.ValidationError) -> str:
    """`layer`: expected int, got str. For a missing field: no field `layer`."""
    text = str(error)
    reason, _, place = text.partition(" - at `$.")
    if reason.startswith("Object missing required field"):
        return f"no field {reason.rpartition(' ')[2]}"
    if not place:
        return reason
    return f"`{place.rstrip('`')}`: {reason[0].lower()}{reason[1:].replace('`', '')}"
