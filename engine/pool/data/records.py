"""RL data: for every query a pool of demonstrations and trajectories that point into it (spec Pool, Data Models)."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

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


_Pair = Annotated[list[int], msgspec.Meta(min_length=SHOTS, max_length=SHOTS)]


class TrajectoryData(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Two demonstrations and the score of the model's answer with them.

    `pointer`: their places in the pool; `pointer_global`: their rows in the embedding table; `vqa_acc_score` in
    [0, 1]; `extra`: all other fields of the file, unchanged.
    """

    pointer: _Pair
    pointer_global: _Pair | None = None
    vqa_correct: bool | Annotated[int, msgspec.Meta(ge=0, le=1)]
    vqa_acc_score: Annotated[float, msgspec.Meta(ge=0, le=1)]
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

    query_id: int | Annotated[str, msgspec.Meta(min_length=1)]
    candidate_pool_indices: list[Annotated[int, msgspec.Meta(ge=0)]]
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


def check_row(row: int, what: str, table_size: int, where: str) -> None:
    """Raises OutOfRangeError for a row that the embedding table does not have. `what`: what is in that row."""
    if not 0 <= row < table_size:
        what = f"{what} is row {row}, the embedding table has {table_size}"
        raise OutOfRangeError(what=what, where=where, hint="give the embeddings the RL data was made with")


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


def parse_query(key: object, record: Any, source: str, table_size: int | None = None) -> RLQueryData:
    """A query of the file. `key`: its id if the file is an object, or None; `source`: the file's name in errors."""
    stated = record.get("query_id", key) if isinstance(record, dict) else key
    where = f"query {str(stated)[:LONGEST_ID]}"
    if not isinstance(record, dict):
        raise _bad(source, where, f"found {_shown(record)}, expected an object")
    pools = [record[name] for name in POOL_NAMES if name in record]
    if not pools:
        raise _bad(source, where, f"has neither {' nor '.join(POOL_NAMES)}")
    if pools[0] != pools[-1]:
        raise _bad(source, where, f"{' and '.join(POOL_NAMES)} are not the same")
    trajectories = record.get("pointer_candidates")
    if isinstance(trajectories, list):
        trajectories = [
            _trajectory(trajectory, source, f"{where}, trajectory {number}")
            for number, trajectory in enumerate(trajectories)
        ]
    known = {"query_id": stated, "candidate_pool_indices": pools[0], "pointer_candidates": trajectories}
    extra = _extra(record, {*known, *POOL_NAMES}, source, where)
    try:
        query = msgspec.convert({**known, "extra": extra}, RLQueryData)
    except msgspec.ValidationError as error:
        raise _bad(source, where, str(error)) from error
    _check(query, key, source, where, table_size)
    return query


def _trajectory(record: Any, source: str, where: str) -> Any:
    """A trajectory's record as its type has it: unknown fields apart, and scores also where it failed."""
    if not isinstance(record, dict):
        return record
    known = {name: value for name, value in record.items() if name in _KNOWN}
    if record.get("eval_failed"):
        known |= {name: known.get(name) or 0 for name in ("vqa_correct", "vqa_acc_score")}
    return {**known, "extra": _extra(record, _KNOWN, source, where)}


def _extra(record: dict[str, Any], known: Collection[str], source: str, where: str) -> dict[str, Any]:
    return {name: _kept(name, value, source, where) for name, value in record.items() if name not in known}


def _check(query: RLQueryData, key: object, source: str, where: str, table_size: int | None) -> None:
    """What types do not say: its id, and that every number leads into the pool or the table."""
    pool = query.candidate_pool_indices
    if key is not None and query.name != str(key):
        raise _bad(source, where, f"query_id is {_shown(query.query_id)}, its key is {_shown(key)}")
    if len(query.name) > LONGEST_ID:
        raise _bad(source, where, f"query_id has {len(query.name):,} characters, more than {LONGEST_ID}")
    if table_size is not None and (row := max(pool, default=0)) >= table_size:
        what = f"a row of the pool is {row}, but the embedding table has {table_size} rows"
        raise _bad(source, where, what, "give the embeddings this file was made with", OutOfRangeError)
    for number, trajectory in enumerate(query.pointer_candidates):
        there, pointer = f"{where}, trajectory {number}", trajectory.pointer
        if not all(0 <= place < len(pool) for place in pointer):
            what = f"pointer {pointer} leaves the pool of {len(pool)}"
            raise _bad(source, there, what, kind=OutOfRangeError)
        rows = list(query.pair(trajectory))
        if trajectory.pointer_global not in (None, rows):
            what = (
                f"pointer {pointer} leads to rows {rows}, but pointer_global is {trajectory.pointer_global}"
            )
            raise _bad(source, there, what)


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
