"""RoG-webqsp and RoG-cwq (Luo et al. 2024) as parquet: `id, question, answer, q_entity, a_entity, graph`, a list of
[h, r, t]."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from engine.config.gflownet import GraphsSection
from engine.errors import DataError, reading_errors
from engine.gflownet.graphs.raw import RawSample, Unreadable
from engine.gflownet.graphs.sources import ROG_HUB_FILES
from engine.gflownet.layout import SPLITS
from engine.tasks.hub import fetch, hub_name
from engine.tasks.split_files import split_files

COLUMNS = ("id", "question", "answer", "q_entity", "a_entity", "graph")
ROWS_AT_ONCE = 64
"""A row holds some thousand triples."""
_SETTING = "graphs.path"
_HINT = f"expected the RoG format: columns {', '.join(COLUMNS)}; load the file again"


class RogSource:
    """The parquet files of a folder, or of `hub:owner/name`, in the order of their names; never a whole file in memory.

    Held-out questions are not trained on: of a question that is in two splits (same id or same words), only the copy
    in the later split of train, validation, test is kept. Of rows with one id in a split, the first is kept: draws and
    answers belong to an id.
    """

    remark = ""

    def __init__(self, section: GraphsSection) -> None:
        if section.path is None:
            raise DataError(what="no folder of parquet files is named", where=_SETTING, hint="set it")
        folder = rog_folder(section.path)
        self._files = {split: split_files(folder, split, _SETTING, (".parquet",)) for split in SPLITS}
        self._most = section.sizes
        for files in self._files.values():
            for file in files:
                _check(file)
        self._asked: dict[str, set[str]] = {}

    def size(self, split: str) -> int:
        """Number of rows, at most the configured number."""
        rows = sum(_open(file).metadata.num_rows for file in self._files[split])
        return min(rows, self._most[split])

    def read(self, split: str) -> Iterator[RawSample | Unreadable]:
        """Row by row. A broken row is returned as unreadable, and reading continues."""
        left = self.size(split)
        later = {other: self._questions(other) for other in SPLITS[SPLITS.index(split) + 1 :]}
        seen: set[str] = set()
        for file in self._files[split]:
            for row in _rows(file, COLUMNS):
                if left == 0:
                    return
                left -= 1
                sample = parse_row(row)
                again = [other for other, asked in later.items() if asked & _names(row)]
                if isinstance(sample, Unreadable):
                    yield sample
                elif again:
                    yield Unreadable(f"asked in {again[0]}, too")
                elif sample.id in seen:
                    yield Unreadable("its id stands in an earlier row, too")
                else:
                    seen.add(sample.id)
                    yield sample

    def _questions(self, split: str) -> set[str]:
        """Ids and words of all questions of a split, however many of them are used."""
        if split not in self._asked:
            rows = (row for file in self._files[split] for row in _rows(file, COLUMNS[:2]))
            self._asked[split] = set().union(*map(_names, rows))
        return self._asked[split]


def rog_folder(path: str) -> Path:
    """The folder that a configuration names; `hub:owner/name` is fetched. Raises DataError."""
    name = hub_name(path)
    return Path(path).expanduser() if name is None else fetch(name, [ROG_HUB_FILES], _SETTING)


def _names(row: dict[str, Any]) -> set[str]:
    words = " ".join(str(row["question"] or "").split()).casefold()
    return {f"id {row['id']}", f"words {words}"} if row["id"] and words else set()


def parse_row(row: dict[str, Any]) -> RawSample | Unreadable:
    """The question of a row, or why it cannot be used. Triples that are not three texts are left out and counted."""
    identity, question, graph = row["id"], row["question"], row["graph"]
    if not isinstance(identity, str) or not identity:
        return Unreadable("no id")
    if not isinstance(question, str) or not question.strip():
        return Unreadable("no question")
    if graph is not None and not isinstance(graph, list):
        return Unreadable("graph is not a list")
    triples = [(triple[0], triple[1], triple[2]) for triple in graph or () if _is_triple(triple)]
    lists = {name: _texts(row[name]) for name in ("answer", "q_entity", "a_entity")}
    broken = [name for name, values in lists.items() if values is None]
    if broken:
        return Unreadable(f"{broken[0]} is not a list of texts")
    return RawSample(
        id=identity,
        question=question,
        answer=lists["answer"] or [],
        q_entity=lists["q_entity"] or [],
        a_entity=lists["a_entity"] or [],
        graph=triples,
        broken_triples=len(graph or ()) - len(triples),
    )


def _is_triple(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 3 and all(map(_is_name, value))


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


def _rows(file: Path, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    parquet = _open(file)
    row = 0
    for group in range(parquet.num_row_groups):
        try:
            for batch in parquet.iter_batches(ROWS_AT_ONCE, row_groups=[group], columns=list(columns)):
                rows = batch.to_pylist()
                row += len(rows)
                yield from rows
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
    with reading_errors(file, "no parquet file", _HINT, pa.ArrowException, OSError):
        return pq.ParquetFile(file)


def _broken(what: str, file: Path) -> DataError:
    return DataError(what=what, where=str(file), hint=_HINT)
