"""RoG-webqsp and RoG-cwq parquet files: `id, question, answer, q_entity, a_entity, graph`, a list of [h, r, t]."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from engine.errors import DataError
from engine.gflownet.layout import SPLITS
from engine.gflownet.raw import RawSample
from engine.gflownet.raw_sources import Unreadable
from engine.gflownet.settings import GraphsSection

COLUMNS = ("id", "question", "answer", "q_entity", "a_entity", "graph")
ROWS_AT_ONCE = 64
"""A row holds some thousand triples."""


class RogSource:
    """The files of a folder, `<split>*.parquet` each, in the order of their names; never a whole file in memory."""

    def __init__(self, section: GraphsSection) -> None:
        if section.path is None:
            raise DataError(what="no folder of parquet files is named", where="graphs.path", mend="name it")
        folder = Path(section.path).expanduser()
        self._files = {split: sorted(folder.glob(f"{split}*.parquet")) for split in SPLITS}
        self._most = dict(
            zip(SPLITS, (section.train_size, section.validation_size, section.test_size), strict=True)
        )
        for split, files in self._files.items():
            if not files:
                raise DataError(
                    what=f"no {split}*.parquet is there",
                    where=f"graphs.path: {folder}",
                    mend="name the folder that holds the data set's parquet files",
                )
            for file in files:
                _check(file)

    def size(self, split: str) -> int:
        """Rows there are, or as many as configured."""
        rows = sum(_open(file).metadata.num_rows for file in self._files[split])
        return min(rows, self._most[split])

    def read(self, split: str) -> Iterator[RawSample | Unreadable]:
        """Row by row. A row that does not hold what it should is told as unreadable, and the next one is read."""
        left = self.size(split)
        for file in self._files[split]:
            for row in _rows(file):
                if left == 0:
                    return
                left -= 1
                yield parse_row(row)


def parse_row(row: dict[str, Any]) -> RawSample | Unreadable:
    """One row's question, or what is wrong with it."""
    identity, question, graph = row["id"], row["question"], row["graph"]
    if not isinstance(identity, str) or not identity:
        return Unreadable("no id")
    if not isinstance(question, str) or not question.strip():
        return Unreadable("no question")
    if graph is not None and not isinstance(graph, list):
        return Unreadable("graph is no list")
    triples = []
    for triple in graph or ():
        if not isinstance(triple, list) or len(triple) != 3 or not all(_is_name(part) for part in triple):
            return Unreadable("a triple that is not three texts")
        triples.append((triple[0], triple[1], triple[2]))
    lists = {name: _texts(row[name]) for name in ("answer", "q_entity", "a_entity")}
    broken = [name for name, values in lists.items() if values is None]
    if broken:
        return Unreadable(f"{broken[0]} is no list of texts")
    return RawSample(
        identity, question, lists["answer"] or [], lists["q_entity"] or [], lists["a_entity"] or [], triples
    )


def _texts(values: Any) -> list[str] | None:
    """Each once, in order; None where they are not texts. Null is an empty list."""
    if values is None:
        return []
    if isinstance(values, str):
        values = [values]
    if not isinstance(values, list) or not all(map(_is_name, values)):
        return None
    return list(dict.fromkeys(values))


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _rows(file: Path) -> Iterator[dict[str, Any]]:
    parquet = _open(file)
    row = 0
    for group in range(parquet.num_row_groups):
        try:
            for batch in parquet.iter_batches(ROWS_AT_ONCE, row_groups=[group], columns=list(COLUMNS)):
                found = batch.to_pylist()
                row += len(found)
                yield from found
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise _broken(f"row group {group} cannot be read behind row {row}: {error}", file) from error


def _check(file: Path) -> None:
    schema = _open(file).schema_arrow
    missing = [name for name in COLUMNS if name not in schema.names]
    if missing:
        raise _broken(f"no column {', '.join(missing)}", file)
    graph = schema.field("graph").type
    if not (_is_list(graph) and _is_list(graph.value_type)) and not pa.types.is_null(graph):
        raise _broken(f"column graph holds {graph}, not lists of [head, relation, tail]", file)


def _is_list(kind: pa.DataType) -> bool:
    return pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)


def _open(file: Path) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(file)
    except (pa.ArrowException, OSError) as error:
        raise _broken(f"no parquet file: {error}", file) from error


def _broken(what: str, file: Path) -> DataError:
    return DataError(
        what=what,
        where=str(file),
        mend=f"expected the RoG format: columns {', '.join(COLUMNS)}; load the file again",
    )
