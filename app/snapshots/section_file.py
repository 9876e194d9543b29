"""A file of sections of bytes that says whether it is whole: a checksum over all of it stands at its end."""

from __future__ import annotations

import os
import tempfile
import zlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import msgspec

from engine.regular_file import open_to_read

_MAGIC = b"steer-tui sections 1\n"
_NUMBER = 8
_LARGEST_HEAD = 1 << 24


class NotWholeError(Exception):
    """The file is torn, spoilt, or of another kind."""


def write_sections(path: Path, about: bytes, sections: Sequence[bytes]) -> None:
    """Write the file under a temporary name and rename it. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            head = msgspec.msgpack.encode((about, [len(section) for section in sections]))
            check = 0
            for part in (_MAGIC, len(head).to_bytes(_NUMBER), head, *sections):
                file.write(part)
                check = zlib.crc32(part, check)
            file.write(check.to_bytes(_NUMBER))
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def read_about(path: Path) -> bytes:
    """What `write_sections` was given about the sections. Raises OSError, NotWholeError."""
    with _open_private(path) as file:
        return _head(file)[0]


def read_sections(path: Path) -> list[bytes]:
    """The sections. Raises OSError, NotWholeError."""
    with _open_private(path) as file:
        _, lengths, check = _head(file)
        sections = []
        for length in lengths:
            sections.append(_exactly(file, length))
            check = zlib.crc32(sections[-1], check)
        if int.from_bytes(_exactly(file, _NUMBER)) != check or file.read(1):
            raise NotWholeError(path)
        return sections


def _open_private(path: Path) -> BinaryIO:
    """The opened file, if nobody else could have written it."""
    file = open_to_read(path)
    status = os.fstat(file.fileno())
    if status.st_uid != os.getuid() or status.st_mode & 0o022:
        file.close()
        raise NotWholeError(path)
    return file


def _head(file: BinaryIO) -> tuple[bytes, list[int], int]:
    """(about, lengths of the sections, checksum so far); `file` is at the first section afterwards."""
    magic, number = _exactly(file, len(_MAGIC)), _exactly(file, _NUMBER)
    length, size = int.from_bytes(number), os.fstat(file.fileno()).st_size
    if magic != _MAGIC or length > _LARGEST_HEAD:
        raise NotWholeError(file.name)
    head = _exactly(file, length)
    try:
        about, lengths = msgspec.msgpack.decode(head, type=tuple[bytes, list[int]])
    except msgspec.DecodeError as error:
        raise NotWholeError(file.name) from error
    if min(lengths, default=0) < 0 or file.tell() + sum(lengths) + _NUMBER != size:
        raise NotWholeError(file.name)
    return about, lengths, zlib.crc32(head, zlib.crc32(number, zlib.crc32(magic)))


def _exactly(file: BinaryIO, length: int) -> bytes:
    data = file.read(length)
    if len(data) != length:
        raise NotWholeError(file.name)
    return data
