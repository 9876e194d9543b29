"""Let the library read a GGUF file once, not four times, and all parts of a model, not the first alone; or its header
alone."""

from __future__ import annotations

import math
import mmap
import os
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from engine.lm.loading.gguf_file import gguf_parts


@contextmanager
def reading(file: Path) -> Iterator[Callable[[], Any]]:
    """While open, whoever opens `file` with `gguf.GGUFReader` gets one and the same reader, with the tensors of all
    parts, mapped from where they lie: nothing is copied. Yields what returns it. Opening raises ValueError where
    tensors are missing."""
    import gguf  # in the extra [gguf]

    package: Any = gguf
    one_file, names = package.GGUFReader, package.get_tensor_name_map
    reader_class = _reader_class(one_file, package.GGUFValueType)

    @cache
    def whole() -> Any:
        reader = reader_class(file)
        for part in gguf_parts(file)[1:]:
            other = reader_class(part)
            reader.tensors += other.tensors
            reader.mapped += other.mapped
        _check_count(reader)
        return reader

    def open_file(path: Any, *args: Any, **options: Any) -> Any:
        return whole() if os.path.samefile(path, file) else one_file(path, *args, **options)

    # The table of names would be made anew for each module of the model.
    package.GGUFReader, package.get_tensor_name_map = open_file, cache(names)
    try:
        yield whole
    finally:
        package.GGUFReader, package.get_tensor_name_map = one_file, names


def read_header(file: Path) -> tuple[str, int]:
    """The model's architecture, empty in its later parts, and where the last tensor ends. Raises one of UNREADABLE
    where the file ends within its header, or that is damaged; OSError."""
    import gguf  # in the extra [gguf]

    package: Any = gguf

    class Header(_reader_class(package.GGUFReader, package.GGUFValueType)):
        end = 0

        def _strings(self, offset: int, count: int) -> tuple[list[bytes], int]:
            data = memoryview(self._plain)
            for _ in range(count):
                offset += 8 + struct.unpack_from("=Q", data, offset)[0]
            return [], offset

        def _build_tensors(self, start_offs: int, fields: list[Any]) -> None:
            for field in fields:
                *_, shape, kind, offset = field.parts
                values, size = package.GGML_QUANT_SIZES[package.GGMLQuantizationType(kind[0])]
                count = math.prod(map(int, shape))
                self.end = max(self.end, int(start_offs) + int(offset[0]) + count // values * size)

    header: Any = Header(file)
    named = header.get_field("general.architecture")
    return "" if named is None else str(named.contents()), header.end


UNREADABLE = (ValueError, LookupError, ArithmeticError, TypeError, RecursionError, struct.error)
"""What reading a cut or damaged header raises."""


def _reader_class(base: Any, types: Any) -> Any:
    class Reader(base):
        """As the package's, for headers with hundreds of thousands of tokens: slices of a mapped file cost several
        times those of the plain array over it, and the items of an array are read in one go."""

        @property
        def data(self) -> Any:
            return self._plain

        @data.setter
        def data(self, mapped: Any) -> None:
            self._plain: Any = np.asarray(mapped)
            self.mapped = [mapped]

        def forget_pages(self) -> None:
            """Let the system drop what was read of the files: they are read again where needed."""
            for mapped in self.mapped if hasattr(mmap, "MADV_DONTNEED") else ():
                mapped._mmap.madvise(mmap.MADV_DONTNEED)

        def _get_field_parts(self, orig_offs: int, raw_type: int) -> Any:
            if raw_type != types.ARRAY or self.byte_order != "I":
                return super()._get_field_parts(orig_offs, raw_type)
            kind, count = struct.unpack_from("=IQ", self._plain, orig_offs)
            start = orig_offs + 12
            if kind == types.STRING:
                parts, end = self._strings(start, count)
            elif kind in self.gguf_scalar_to_np:
                values = self._get(start, self.gguf_scalar_to_np[kind], count)
                if len(values) != count:
                    raise ValueError("the file ends within an array")
                parts, end = list(values.reshape(-1, 1)), start + values.nbytes
            else:
                return super()._get_field_parts(orig_offs, raw_type)
            numbers, kinds = list(range(len(parts))), [types.ARRAY, types(kind)]
            return end - orig_offs, parts, numbers, kinds[: 1 + bool(count)]

        def _strings(self, offset: int, count: int) -> tuple[list[Any], int]:
            """`count` strings from `offset` on, each after its length, and where they end."""
            strings, data = [], memoryview(self._plain)
            for _ in range(count):
                (length,) = struct.unpack_from("=Q", data, offset)
                strings.append(_String(data[offset + 8 : offset + 8 + length]))
                offset += 8 + length
            return strings, offset

    return Reader


class _String(bytes):
    """Bytes that mimic the array which the package expects, at a third of its size."""

    __slots__ = ()

    def tobytes(self) -> bytes:
        return bytes(self)


def _check_count(reader: Any) -> None:
    field = reader.get_field("split.tensors.count")
    if field is not None and field.contents() != len(reader.tensors):
        raise ValueError(f"the parts hold {len(reader.tensors)} of the model's {field.contents()} tensors")
