"""The header of a GGUF file: the model's architecture, and where the file's last tensor ends. No weights are read."""

from __future__ import annotations

import math
import mmap
import struct
from dataclasses import dataclass
from pathlib import Path

from engine.errors import ModelError
from engine.regular_file import open_to_read

MAGIC = b"GGUF"
COPY_AGAIN = "copy or download the model again"
LARGEST_HEADER = 1 << 28
"""Bytes. Headers of large vocabularies have some ten million."""
_DAMAGED = "the header of this GGUF file is damaged"
_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
"""Bytes of a value of each type; strings and arrays have none that is fixed."""
_UINT32, _STRING, _ARRAY = 4, 8, 9
_ALIGNMENT = 32


@dataclass(frozen=True)
class GgufHeader:
    """`architecture`: empty in the later parts of a model. `end`: bytes that the whole file has."""

    architecture: str
    end: int


def read_header(file: Path) -> GgufHeader:
    """The header of a file that begins as a GGUF file. Raises ModelError where the file ends within it, or it is
    damaged; OSError."""
    with open_to_read(file) as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return _Reader(file, data).header()


def cut(file: Path, size: int, whole: int | None = None) -> ModelError:
    """The error of a file that ends too early. `whole`: the bytes it should have, where its header tells."""
    what = f"it ends within its header, after {size:,} bytes"
    if whole is not None:
        what = f"it has {size:,} of its {whole:,} bytes"
    return ModelError(what=f"this file is cut: {what}", where=str(file), hint=COPY_AGAIN)


class _Reader:
    def __init__(self, file: Path, data: mmap.mmap) -> None:
        self._file = file
        self._data = data
        self._at = len(MAGIC)
        self._order = "<"

    def header(self) -> GgufHeader:
        if self._number("I") & 0xFFFF == 0:  # the version, seen from the other end
            self._order = ">"
        tensors, fields = self._number("Q"), self._number("Q")
        texts, alignment = dict[str, str](), _ALIGNMENT
        for _ in range(fields):
            key, kind = self._text(), self._number("I")
            if kind == _STRING:
                texts[key] = self._text()
            elif key == "general.alignment" and kind == _UINT32:
                alignment = max(1, self._number("I"))
            else:
                self._skip(kind)
        ends = [self._tensor_end() for _ in range(tensors)]
        begin = -(-self._at // alignment) * alignment
        return GgufHeader(texts.get("general.architecture", ""), begin + max(ends) if ends else self._at)

    def _tensor_end(self) -> int:
        """Bytes from the beginning of the data to the end of a tensor."""
        import gguf  # in the extra [gguf]

        self._text()
        shape = [self._number("Q") for _ in range(self._number("I"))]
        kind, offset = self._number("I"), self._number("Q")
        try:
            values, size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType(kind)]
        except ValueError as error:
            raise ModelError(
                what=f"weights of type {kind}, which the package gguf does not know",
                where=str(self._file),
                hint="pip install --upgrade gguf, or use another quantization of the model",
            ) from error
        return offset + math.prod(shape) // values * size

    def _skip(self, kind: int) -> None:
        """Pass over a value of a field, other than a text."""
        if kind == _ARRAY:
            self._skip_array(self._number("I"), self._number("Q"))
        else:
            self._take(self._size(kind))

    def _skip_array(self, kind: int, count: int) -> None:
        if kind != _STRING:
            self._take(self._size(kind) * count)
            return
        for _ in range(count):
            self._take(self._number("Q"))

    def _size(self, kind: int) -> int:
        if kind not in _SIZES:
            raise ModelError(what=_DAMAGED, where=str(self._file), hint=COPY_AGAIN)
        return _SIZES[kind]

    def _text(self) -> str:
        length = self._number("Q")
        begin = self._take(length)
        return self._data[begin : begin + length].decode(errors="replace")

    def _number(self, form: str) -> int:
        form = self._order + form
        return struct.unpack_from(form, self._data, self._take(struct.calcsize(form)))[0]

    def _take(self, count: int) -> int:
        """Where the next `count` bytes begin."""
        begin, self._at = self._at, self._at + count
        if self._at > len(self._data):
            raise cut(self._file, len(self._data))
        if self._at > LARGEST_HEADER:
            raise ModelError(what=_DAMAGED, where=str(self._file), hint=COPY_AGAIN)
        return begin
