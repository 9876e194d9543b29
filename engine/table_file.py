"""Tables as Parquet files, written portion by portion. Pyarrow is imported only here and where data sets are read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from engine.errors import DataError, disk_errors

_PORTION = 20_000
KINDS = ("text", "number", "flag")


def require_pyarrow(where: str, otherwise: str = "") -> None:
    """Raises DataError unless Parquet files can be read and written."""
    if find_spec("pyarrow") is None:
        raise DataError(
            what="Parquet files need the package pyarrow, which is not installed",
            where=where,
            hint="pip install 'steer-tui[parquet]'" + otherwise,
        )


def write_parquet(path: Path, columns: Mapping[str, str], rows: Iterable[Sequence[Any]]) -> int:
    """Write a table whole or not at all; the number of rows. `columns`: the kind of each by name, one of `KINDS`; a
    number is a float64, None is null. Raises DataError where pyarrow is missing, DiskError."""
    require_pyarrow("--format parquet", ", or take csv or jsonl")
    import pyarrow as pa
    import pyarrow.parquet as pq

    types = {"text": pa.string(), "number": pa.float64(), "flag": pa.bool_()}
    schema = pa.schema([(name, types[kind]) for name, kind in columns.items()])
    unfinished, count = path.with_name(f".{path.name}.{os.getpid()}.unfinished"), 0
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with pq.ParquetWriter(unfinished, schema) as writer:
                for portion in _portions(rows):
                    values = zip(*portion, strict=True)
                    arrays = [pa.array(v, type=f.type) for v, f in zip(values, schema, strict=True)]
                    writer.write_batch(pa.record_batch(arrays, schema=schema))
                    count += len(portion)
            os.replace(unfinished, path)
        finally:
            unfinished.unlink(missing_ok=True)
    return count


def _portions(rows: Iterable[Sequence[Any]]) -> Iterable[list[Sequence[Any]]]:
    portion: list[Sequence[Any]] = []
    for row in rows:
        portion.append(row)
        if len(portion) == _PORTION:
            yield portion
            portion = []
    if portion:
        yield portion
