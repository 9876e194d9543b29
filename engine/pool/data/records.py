"""RL data: for every query a pool of demonstrations and trajectories that point into it (spec Pool, Data Models)."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from engine.errors import DataError, reading_errors
from engine.files import whole_letters, write_atomic
from engine.regular_file import read_regular

POOL_SIZE = 64
"""Candidates of a query after normalisation."""
SHOTS = 2
"""Demonstrations of a trajectory, in the prompt's order."""
LONGEST_ID = 200
"""Characters of a query's id, which stands in every event about it."""
POOL_NAMES = ("candidate_pool_indices", "candidate_pool_ids")

_DEEPEST = 64
_HINT = "correct the file, or leave the query out"
_KNOWN = frozenset({"pointer", "pointer_global", "vqa_correct", "vqa_acc_score", "gen_method"})


class PoolSizeError(DataError, AssertionError):
    """A pool of another size than is expected (spec Pool, error handling 1)."""


class OutOfRangeError(DataError, IndexError):
    """A place outside the pool, or a row outside the embedding table (spec Pool, error handling 2 and 3)."""


class NotInPoolError(DataError, ValueError):
    """A row that is not in the pool."""


class TrajectoryData(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Two demonstrations and the score of the model's answer with them.

    `pointer`: their places in the pool; `pointer_global`: their rows in the embedding table; `vqa_acc_score` in
    [0, 1]; `extra`: all other fields of the file, unchanged.
    """

    pointer: list[int]
    pointer_global: list[int] | None = None
    vqa_correct: int
    vqa_acc_score: float
    gen_method: str
    extra: dict[str, Any] = {}

    @property
    def failed(self) -> bool:
        """Whether the trajectory was never scored; then its score has no meaning."""
        return bool(self.extra.get("eval_failed", False))

    @property
    def rows(self) -> tuple[int, int]:
        """The rows that a normalised trajectory points to."""
        if self.pointer_global is None:
            raise ValueError("the query is not normalised")
        first, second = self.pointer_global
        return first, second


class RLQueryData(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A query: `candidate_pool_indices` are rows of the embedding table, in an order that positions depend on;
    `query_id`: as it came."""

    query_id: int | str
    candidate_pool_indices: list[int]
    pointer_candidates: list[TrajectoryData]
    extra: dict[str, Any] = {}

    @property
    def name(self) -> str:
        """The id as data sets, events and files of records know it."""
        return str(self.query_id)

    def pair(self, trajectory: TrajectoryData) -> tuple[int, int]:
        """The rows a trajectory of this query points to."""
        first, second = trajectory.pointer
        pool = self.candidate_pool_indices
        return local_to_global(first, pool), local_to_global(second, pool)


class RLData(dict[str, RLQueryData]):
    """Queries by id. `notes`: entries of the file whose keys begin with `_`."""

    def __init__(self, queries: Mapping[str, RLQueryData], notes: Mapping[str, Any] | None = None) -> None:
        super().__init__(queries)
        self.notes: dict[str, Any] = dict(notes or {})


def local_to_global(local: int, pool: Sequence[int]) -> int:
    """Row of the demonstration at place `local`. Raises OutOfRangeError for a place that the pool does not have."""
    if not 0 <= local < len(pool):
        raise OutOfRangeError(what=f"place {local} is not in a pool of {len(pool)}", hint=_HINT)
    return pool[local]


def global_to_local(row: int, pool: Sequence[int]) -> int:
    """First place of row `row`. Raises NotInPoolError."""
    try:
        return pool.index(row)
    except ValueError:
        raise NotInPoolError(what=f"row {row} is not in the pool", hint=_HINT) from None


# ---------------------------------------------------------------- reading


def read_rl_data(path: Path, table_size: int | None = None) -> RLData:
    """Queries of a JSON file: an object of queries by id, or a list of queries with `query_id`.

    Pools may have any size and hold a row twice: normalisation corrects that. Raises DataError, with query, trajectory
    and value, for pointers out of the pool, rows beyond `table_size`, a `pointer_global` that contradicts `pointer`,
    wrong scores and repeated ids.
    """
    with reading_errors(path, "no RL data", "name a JSON file", OSError):
        source = read_regular(path)
    with reading_errors(path, "no JSON", "restore the file", ValueError, RecursionError):
        data = whole_letters(json.loads(source, object_pairs_hook=_object), source)
    notes: dict[str, Any] = {}
    queries: dict[str, RLQueryData] = {}
    for key, record in _entries(data, path):
        if key is not None and key.startswith("_"):
            notes[key] = _kept(key, record, str(path))
            continue
        query = parse_query(key, record, str(path), table_size)
        if query.name in queries:
            raise _bad(str(path), f"query {query.name}", "this id occurs twice")
        queries[query.name] = query
    return RLData(queries, notes)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of the file. Raises ValueError for a repeated key."""
    record = dict(pairs)
    if len(record) != len(pairs):
        twice, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise ValueError(f"the key {_shown(twice)} occurs twice in an object")
    return record


def _entries(data: Any, path: Path) -> Iterable[tuple[str | None, Any]]:
    if isinstance(data, dict):
        return data.items()
    if isinstance(data, list):
        return ((None, record) for record in data)
    raise DataError(
        what=f"found {_shown(data)}, expected an object of queries by id, or a list of queries",
        where=str(path),
        hint="give RL data: queries with candidate_pool_indices and pointer_candidates",
    )


def parse_query(key: str | None, record: Any, source: str, table_size: int | None = None) -> RLQueryData:
    """A query of the file. `key`: its id if the file is an object; `source`: the file's name in errors."""
    where = f"query {key[:LONGEST_ID]}" if key is not None else "a query of the list"
    if not isinstance(record, dict):
        raise _bad(source, where, f"found {_shown(record)}, expected an object")
    query_id = _query_id(key, record, source, where)
    where = f"query {query_id}"
    pool = _pool(record, source, where, table_size)
    trajectories = record.get("pointer_candidates")
    if not isinstance(trajectories, list):
        raise _bad(source, where, f"pointer_candidates is {_shown(trajectories)}, expected a list")
    known = {"query_id", "pointer_candidates", *POOL_NAMES}
    return RLQueryData(
        query_id=query_id,
        candidate_pool_indices=pool,
        pointer_candidates=[
            _trajectory(trajectory, pool, source, f"{where}, trajectory {number}")
            for number, trajectory in enumerate(trajectories)
        ],
        extra={
            name: _kept(name, value, source, where) for name, value in record.items() if name not in known
        },
    )


def _query_id(key: str | None, record: dict[str, Any], source: str, where: str) -> int | str:
    stated = record.get("query_id", key)
    if isinstance(stated, bool) or not isinstance(stated, (str, int)) or stated == "":
        raise _bad(source, where, f"query_id is {_shown(stated)}, expected a number or a text")
    if key is not None and str(stated) != key:
        raise _bad(source, where, f"query_id is {_shown(stated)}, its key is {_shown(key)}")
    if len(str(stated)) > LONGEST_ID:
        raise _bad(source, where, f"query_id has {len(str(stated)):,} characters, more than {LONGEST_ID}")
    return stated


def _pool(record: dict[str, Any], source: str, where: str, table_size: int | None) -> list[int]:
    given = [(name, record[name]) for name in POOL_NAMES if name in record]
    if not given:
        raise _bad(source, where, f"has neither {' nor '.join(POOL_NAMES)}")
    name, pool = given[0]
    if any(other != pool for _, other in given):
        raise _bad(source, where, f"{' and '.join(POOL_NAMES)} are not the same")
    if not isinstance(pool, list):
        raise _bad(source, where, f"{name} is {_shown(pool)}, expected a list of rows")
    for place, row in enumerate(pool):
        if not _is_int(row) or row < 0:
            raise _bad(source, where, f"{name}[{place}] is {_shown(row)}, expected a row from 0")
        if table_size is not None and row >= table_size:
            what = f"{name}[{place}] is {row}, but the embedding table has {table_size} rows"
            hint = "give the embeddings this file was made with"
            raise _bad(source, where, what, hint, OutOfRangeError)
    return pool


def _trajectory(record: Any, pool: list[int], source: str, where: str) -> TrajectoryData:
    if not isinstance(record, dict):
        raise _bad(source, where, f"found {_shown(record)}, expected an object")
    pointer = _ints(record.get("pointer"), "pointer", source, where)
    for place in pointer:
        if not 0 <= place < len(pool):
            what = f"pointer {pointer} leaves the pool of {len(pool)}"
            raise _bad(source, where, what, kind=OutOfRangeError)
    pointer_global: list[int] | None = None
    if record.get("pointer_global") is not None:
        pointer_global = _ints(record["pointer_global"], "pointer_global", source, where)
        mapped = [pool[place] for place in pointer]
        if pointer_global != mapped:
            what = f"pointer {pointer} leads to rows {mapped}, but pointer_global is {pointer_global}"
            raise _bad(source, where, what)
    extra = {name: _kept(name, value, source, where) for name, value in record.items() if name not in _KNOWN}
    correct, score = _scores(record, bool(extra.get("eval_failed", False)), source, where)
    method = record.get("gen_method")
    if not isinstance(method, str):
        raise _bad(source, where, f"gen_method is {_shown(method)}, expected a text")
    return TrajectoryData(
        pointer=pointer,
        pointer_global=pointer_global,
        vqa_correct=correct,
        vqa_acc_score=score,
        gen_method=method,
        extra=extra,
    )


def _ints(value: Any, name: str, source: str, where: str) -> list[int]:
    if not isinstance(value, list) or len(value) != SHOTS or not all(map(_is_int, value)):
        raise _bad(source, where, f"{name} is {_shown(value)}, expected {SHOTS} whole numbers")
    return value


def _scores(record: dict[str, Any], failed: bool, source: str, where: str) -> tuple[int, float]:
    """(vqa_correct, vqa_acc_score); a failed trajectory may lack them."""
    correct, score = record.get("vqa_correct"), record.get("vqa_acc_score")
    if failed:
        correct, score = correct or 0, score or 0.0
    if not isinstance(correct, (bool, int)) or correct not in (0, 1):
        raise _bad(source, where, f"vqa_correct is {_shown(correct)}, expected 0 or 1")
    if isinstance(score, bool) or not isinstance(score, (int, float)) or not 0 <= score <= 1:
        raise _bad(source, where, f"vqa_acc_score is {_shown(score)}, expected a number from 0 to 1")
    return int(correct), float(score)


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _kept(name: str, value: Any, source: str, where: str = "a note") -> Any:
    """The value of a field that is kept as it is. Raises DataError for one that could not be written again."""
    try:
        return _plain(value)
    except RecursionError:
        raise _bad(source, where, f"{_shown(name)} is nested more than {_DEEPEST} deep") from None


def _plain(value: Any, deepest: int = _DEEPEST) -> Any:
    """`value` with None for NaN and infinities, which Python's JSON may hold. Raises RecursionError."""
    if not deepest:
        raise RecursionError
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {name: _plain(inner, deepest - 1) for name, inner in value.items()}
    return [_plain(inner, deepest - 1) for inner in value] if isinstance(value, list) else value


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _bad(
    source: str, where: str, what: str, hint: str = _HINT, kind: type[DataError] = DataError
) -> DataError:
    return kind(what=what, where=f"{source}: {where}", hint=hint)


# ---------------------------------------------------------------- writing


def write_rl_data(path: Path, data: Mapping[str, RLQueryData]) -> None:
    """Write RL data atomically for `read_rl_data`, with the spec's names, unknown fields and notes."""
    notes = data.notes if isinstance(data, RLData) else {}
    whole = {**notes, **{key: query_record(query) for key, query in data.items()}}
    # A line for each query keeps large files small and readable.
    lines = [f"{_json(key)}: {_json(_plain(record))}" for key, record in whole.items()]
    write_atomic(path, "{\n" + ",\n".join(lines) + "\n}\n")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def query_record(query: RLQueryData) -> dict[str, Any]:
    """A query as a record of the file."""
    trajectories = [_record(trajectory) for trajectory in query.pointer_candidates]
    return {**_record(query), "pointer_candidates": trajectories}


def _record(item: RLQueryData | TrajectoryData) -> dict[str, Any]:
    """The fields in their order, those of `extra` behind them."""
    record = msgspec.to_builtins(item)
    extra = record.pop("extra", {})
    return {**record, **extra}
