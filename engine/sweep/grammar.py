"""What is swept, as it is typed: `online.L=3,5,8 online.k_scale=0.5..4:4 run.seed=0..2`."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

from engine.config import yaml_text
from engine.config.schema import Schema, resolved, schema_at
from engine.errors import ConfigError, Problem
from engine.sweep.sweep import SEED, Axis

MOST_RUNS = 100
"""Runs of a sweep, unless more are asked for."""
_MOST_VALUES = 10_000
"""Of one field."""
_FIXED = {"run.name", "run.outputs", "run.stages"}
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_RANGE = re.compile(rf"({_NUMBER})\.\.({_NUMBER})(?::(\d+)(log)?)?")
_FORM = "field=a,b,c, field=0..2 (whole numbers), field=0.5..4:4 (4 points) or field=0.5..4:4log"
_DIGITS = 6


def swept(changes: Iterable[str]) -> list[str]:
    """Those of the changes that have several values: commas outside of brackets, or a range, for a field that does not
    take any text as it is."""
    return [change for change in changes if _is_swept(*change.partition("=")[::2])]


def _is_swept(name: str, text: str) -> bool:
    if len(_pieces(text)) < 2 and not _RANGE.fullmatch(text.strip()):
        return False
    schema = schema_at(tuple(name.strip().split(".")))
    return schema is not None and not _takes_any_text(schema)


def _takes_any_text(schema: Schema) -> bool:
    alternatives = [resolved(one) for one in resolved(schema).get("anyOf", [schema])]
    return any(one.get("type") == "string" and "enum" not in one for one in alternatives)


def read_axes(specs: Sequence[str], most: int = MOST_RUNS) -> list[Axis]:
    """The axes that are meant. Raises ConfigError with all that is wrong, also if they make more than `most` runs."""
    axes: list[Axis] = []
    problems: list[Problem] = []
    for spec in specs:
        try:
            axis = _axis(spec)
        except ConfigError as error:
            problems += error.problems
            continue
        if any(axis.field == known.field for known in axes):
            problems.append(Problem(axis.field, "", "each field once"))
        axes.append(axis)
    runs = math.prod(len(axis.values) for axis in axes)
    if not problems and runs > most:
        counts = " × ".join(str(len(axis.values)) for axis in axes)
        problems.append(
            Problem(
                "sweep", f"{counts} = {runs:,} runs", f"at most {most}, or --most {runs} if this is meant"
            )
        )
    if problems:
        raise ConfigError(problems)
    return axes


def settings_of(axes: Sequence[Axis]) -> list[dict[str, Any]]:
    """Every combination; the last field changes fastest, but the seed changes fastest of all."""
    ordered = sorted(axes, key=lambda axis: axis.field == SEED)
    names = [axis.field for axis in ordered]
    return [
        dict(zip(names, values, strict=True))
        for values in itertools.product(*(axis.values for axis in ordered))
    ]


def _axis(spec: str) -> Axis:
    name, equals, text = spec.partition("=")
    name, text = name.strip(), text.strip()
    where = f"sweep {name}" if name else "sweep"
    if not equals or not name or not text:
        raise ConfigError([Problem("sweep", repr(spec), _FORM)])
    if name in _FIXED:
        raise ConfigError(
            [Problem(where, "", "another field: name, folder and stages are those of all runs")]
        )
    if schema_at(tuple(name.split("."))) is None:
        raise ConfigError([Problem(where, "", "a known field, such as online.L")])
    match = _RANGE.fullmatch(text)
    values = (
        _range(where, text, *match.groups()) if match else [_value(where, piece) for piece in _pieces(text)]
    )
    if len({repr(value) for value in values}) < len(values):
        raise ConfigError([Problem(where, text, "each value once")])
    return Axis(name, values)


def _range(where: str, text: str, low: str, high: str, points: str | None, log: str | None) -> list[Any]:
    first, last = float(low), float(high)
    whole = first.is_integer() and last.is_integer() and not re.search(r"[.eE]", low + high)
    if first >= last:
        raise ConfigError([Problem(where, text, "a range that begins below its end")])
    if points is None:
        if not whole:
            raise ConfigError([Problem(where, text, f"a number of points, such as {low}..{high}:4")])
        if last - first >= _MOST_VALUES:
            raise ConfigError(
                [Problem(where, text, f"a range of at most {_MOST_VALUES:,} numbers, or points")]
            )
        return list(range(int(first), int(last) + 1))
    count = int(points) if len(points) <= len(str(_MOST_VALUES)) else 0
    if not 2 <= count <= _MOST_VALUES:
        raise ConfigError([Problem(where, text, f"2 points or more, and not more than {_MOST_VALUES:,}")])
    if log and first <= 0:
        raise ConfigError([Problem(where, text, "a range above 0, as its points are multiples")])
    shares = [number / (count - 1) for number in range(count)]
    values = [first * (last / first) ** share if log else first + (last - first) * share for share in shares]
    rounded = [float(f"{value:.{_DIGITS}g}") for value in values]
    return [int(value) for value in rounded] if whole and all(v.is_integer() for v in rounded) else rounded


def _value(where: str, text: str) -> Any:
    try:
        value = yaml_text.parse(text).value
    except yaml_text.YamlError as error:
        raise ConfigError([Problem(where, text, f"a YAML value: {error}")]) from error
    if not text:
        raise ConfigError([Problem(where, "nothing between two commas", _FORM)])
    return value


def _pieces(text: str) -> list[str]:
    """The text between commas that stand in no bracket and no quote."""
    pieces, depth, quote = [""], 0, ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        else:
            depth += (letter in "[{(") - (letter in "]})")
        if letter == "," and not depth and not quote:
            pieces.append("")
        else:
            pieces[-1] += letter
    return [piece.strip() for piece in pieces]
