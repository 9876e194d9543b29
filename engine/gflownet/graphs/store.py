"""g_retrieval on disk: an LMDB with a database a split, and the names of entities and relations (spec GFlowNet 0.2).

Records are msgpack with the arrays as raw little-endian bytes: no pickles. A stage that was killed
continues after the last committed record. The finished file is sealed by its size and checksum: LMDB itself notices
neither a flipped bit nor a missing end, whose pages kill the process that reads them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self
from zlib import crc32

import lmdb
import msgspec
import numpy as np
from numpy.typing import NDArray

from engine.errors import DataError, disk_errors
from engine.files import required, write_atomic

LARGEST = 1 << 40
"""Bytes of address space that the map may take; the file holds what is in it."""
_NAMES = ("entities", "relations")
_HINT = "remove the folder and run the stage graphs again"


class RetrievalRecord(msgspec.Struct, array_like=True, frozen=True):
    """One question's graph of N nodes and E edges. Local numbers count its nodes; global ones entities and
    relations of the run; `node_rows` are rows of entity_embeddings.npy."""

    sample_id: str
    question: str
    nodes: bytes  # int64 [N], global
    node_rows: bytes  # int64 [N]
    heads: bytes  # int64 [E]
    tails: bytes  # int64 [E]
    relations: bytes  # int64 [E], global
    labels: bytes  # uint8 [E]
    q_locals: list[int]
    a_locals: list[int]
    answer_entity_ids: list[int]
    question_emb: bytes  # float32 [D]
    gt_paths: list[list[int]]  # edge numbers
    answers: list[str]  # texts of all gold answers, in the graph or not


def ints(data: bytes) -> NDArray[np.int64]:
    """An int64 array from the bytes of a record."""
    return np.frombuffer(data, dtype="<i8")


class RetrievalStore:
    """Opened for reading, or for writing by one process; once at a time in a process."""

    def __init__(self, path: Path, write: bool = False) -> None:
        """Raises DataError where there is no store, and for one that is damaged or, for reading, not finished."""
        if not write:
            required(path / "data.mdb", "graphs")
        self._path = path
        self._seal = path / "data.crc32"
        if write:
            with disk_errors(path):
                path.mkdir(parents=True, exist_ok=True)
        self._check_seal(needed=not write)
        with self._explained():
            self._env: Any = lmdb.open(
                str(path), map_size=LARGEST, max_dbs=16, readonly=not write, lock=write, readahead=False
            )
        self._check_end()
        self._decoder = msgspec.msgpack.Decoder(RetrievalRecord)
        self._databases: dict[str, Any] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        self._env.close()

    def count(self, split: str) -> int:
        """Records of a split."""
        with self._reading(split) as (transaction, database):
            return 0 if database is None else transaction.stat(database)["entries"]

    def record(self, split: str, number: int) -> RetrievalRecord:
        """Record `number` of a split. Raises IndexError where there is none, DataError where it is broken."""
        with self._reading(split) as (transaction, database):
            data = None if database is None else transaction.get(_key(number), db=database)
            if data is None:
                raise IndexError(number)
            return self._decoder.decode(data)

    def names(self, kind: str) -> list[str]:
        """All entities, or relations, by number."""
        with self._reading(kind) as (transaction, database):
            values = () if database is None else transaction.cursor(db=database).iternext(keys=False)
            return [str(value, "utf-8") for value in values]

    def note(self, name: str) -> Any:
        """The note last written under `name`, or None."""
        with self._reading("notes") as (transaction, database):
            data = None if database is None else transaction.get(name.encode(), db=database)
            return None if data is None else msgspec.json.decode(data)

    def write(
        self,
        split: str,
        records: list[RetrievalRecord],
        names: dict[str, list[str]],
        notes: dict[str, Any],
    ) -> None:
        """Everything in one transaction: further records of a split, further names by their kind, notes. The store is
        no longer sealed."""
        with self._explained():
            self._seal.unlink(missing_ok=True)
            databases = {name: self._env.open_db(name.encode()) for name in (split, "notes", *_NAMES)}
            with self._env.begin(write=True) as transaction:
                further = {split: [msgspec.msgpack.encode(record) for record in records]}
                further |= {kind: [name.encode() for name in of_kind] for kind, of_kind in names.items()}
                for kind, values in further.items():
                    first = transaction.stat(databases[kind])["entries"]
                    for number, value in enumerate(values, first):
                        transaction.put(_key(number), value, db=databases[kind])
                for name, note in notes.items():
                    transaction.put(name.encode(), msgspec.json.encode(note), db=databases["notes"])

    def seal(self) -> None:
        """Say that the store is finished, by its size and checksum."""
        with self._explained():
            self._env.sync(True)
        write_atomic(self._seal, _size_and_checksum(self._path / "data.mdb"))

    def _check_seal(self, needed: bool) -> None:
        if not self._seal.is_file():
            if needed:
                raise DataError(what="the retrieval graphs are not finished", where=str(self._path),
                                hint="run the stage graphs: it goes on from what is there")  # fmt: skip
        elif self._seal.read_bytes() != _size_and_checksum(self._path / "data.mdb"):
            raise DataError(what="the retrieval graphs are not as the stage graphs wrote them: some bytes have changed "
                            "or are missing", where=str(self._path / "data.mdb"), hint=_HINT)  # fmt: skip

    def _check_end(self) -> None:
        """For a store without a seal: a page beyond the file's end would kill the process that reads it."""
        with self._explained():
            pages, size = self._env.info()["last_pgno"] + 1, self._env.stat()["psize"]
            there = (self._path / "data.mdb").stat().st_size
        if there < pages * size:
            self._env.close()
            raise DataError(what=f"the retrieval graphs are cut off after {there:,} of {pages * size:,} bytes",
                            where=str(self._path / "data.mdb"), hint=_HINT)  # fmt: skip

    @contextmanager
    def _reading(self, name: str) -> Iterator[tuple[Any, Any]]:
        """A transaction, and the database `name`, or None where there is none; its values are buffers."""
        with self._explained():
            database = self._database(name)
            with self._env.begin(buffers=True) as transaction:
                yield transaction, database

    def _database(self, name: str) -> Any:
        """Not inside a transaction: a handle opened there ends with it."""
        if name not in self._databases:
            try:
                self._databases[name] = self._env.open_db(name.encode(), create=False)
            except (lmdb.NotFoundError, lmdb.ReadonlyError):
                return None
        return self._databases[name]

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            with disk_errors(self._path):
                yield
        except (lmdb.Error, msgspec.DecodeError, UnicodeDecodeError) as error:
            raise DataError(what=f"the retrieval graphs cannot be read or written: {error}", where=str(self._path),
                            hint=_HINT) from error  # fmt: skip


def _size_and_checksum(path: Path) -> bytes:
    """`bytes crc32`, in a line; of a file that is missing, that of an empty one."""
    size = checksum = 0
    if path.is_file():
        with path.open("rb") as file:
            while block := file.read(1 << 22):
                size, checksum = size + len(block), crc32(block, checksum)
    return f"{size} {checksum:08x}\n".encode()


def _key(number: int) -> bytes:
    return number.to_bytes(8, "big")
