"""Deltas: one number a cluster, added to the logits of its tokens. Read, checked and written (spec Evolution 4.4)."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from engine.errors import DataError
from engine.files import decoded, write_atomic
from engine.regular_file import read_regular
from engine.servers.completion import Problems, problem_words

Deltas = dict[str, float]
"""Cluster id ("0", "1", ...) -> what is added."""
LARGEST = 100.0
"""In nats. More than this decides every token alone, and far more would not fit a logit's number type."""


_MOST_NAMES, _LONGEST_NAME = 40, 40
"""Of clusters, in an error."""


def zero_deltas(clusters: Sequence[str]) -> Deltas:
    """Deltas that change nothing."""
    return dict.fromkeys(clusters, 0.0)


def delta_problems(value: object, clusters: Sequence[str]) -> Problems:
    """Why `value` is not deltas of exactly these clusters; empty if it is."""
    if not isinstance(value, Mapping):
        return {"deltas are no object of cluster ids and numbers": type(value).__name__}
    missing = [cluster for cluster in clusters if cluster not in value]
    extra = [str(key) for key in value if key not in clusters]
    wrong = [f"{key} ({_shown(number)})" for key, number in value.items() if not _is_number(number)]
    large = [str(key) for key, number in value.items() if _is_number(number) and abs(number) > LARGEST]
    problems = {
        "missing clusters": missing,
        "unknown clusters": extra,
        "not a finite number": wrong,
        f"beyond ±{LARGEST:g}": large,
    }
    return {rule: _some(names) for rule, names in problems.items() if names}


def _shown(value: object) -> str:
    """A value as a file has it; of one that may be large, only what it is."""
    return json.dumps(value) if isinstance(value, float | bool | str | None) else type(value).__name__


def _some(names: Sequence[str]) -> str:
    """The first ones, where a file or a server gives very many or very long ones."""
    shown = [f"{name[:_LONGEST_NAME]}{'…' * (len(name) > _LONGEST_NAME)}" for name in names[:_MOST_NAMES]]
    more = [f"and {len(names) - _MOST_NAMES:,} more"] if len(names) > _MOST_NAMES else []
    return ", ".join([*shown, *more])


def check_deltas(value: object, clusters: Sequence[str], where: str) -> Deltas:
    """`value` as deltas, in the order of `clusters`. Raises DataError naming everything that is wrong."""
    problems = delta_problems(value, clusters)
    if problems:
        raise DataError(
            what=f"these are not deltas: {problem_words(problems)}",
            where=where,
            hint=f"give one finite number for each of the clusters {clusters[0]} to {clusters[-1]}",
        )
    assert isinstance(value, Mapping)
    return {cluster: float(value[cluster]) for cluster in clusters}


def read_deltas(path: Path, clusters: Sequence[str]) -> Deltas:
    """Deltas of exactly these clusters from a JSON file. Raises DataError."""
    try:
        value = json.loads(read_regular(path))  # unlike `decoded` it reads NaN, which `check_deltas` names
    except (OSError, ValueError, RecursionError):
        value = decoded(
            path, dict[str, Any], "deltas cannot be read", "correct the path, or restore the file"
        )
    return check_deltas(value, clusters, str(path))


def write_deltas(path: Path, deltas: Deltas) -> None:
    """Write atomically. NaN and infinity are refused."""
    write_atomic(path, json.dumps(deltas, indent=2, allow_nan=False) + "\n")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and -math.inf < value < math.inf
