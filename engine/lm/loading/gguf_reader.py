"""Let the library read a GGUF file once, not four times, and all parts of a model, not the first alone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from engine.lm.loading.gguf_file import gguf_parts


@contextmanager
def reading(file: Path) -> Iterator[None]:
    """While open, whoever opens `file` with `gguf.GGUFReader` gets one and the same reader, with the tensors of all
    parts, mapped from where they lie: nothing is copied. Opening raises ValueError where tensors are missing."""
    import gguf  # in the extra [gguf]

    package: Any = gguf
    one_file, names = package.GGUFReader, package.get_tensor_name_map

    class PlainReader(one_file):
        """Slices of a mapped file cost several times those of the plain array over it, and a header has millions."""

        @property
        def data(self) -> Any:
            return self._plain

        @data.setter
        def data(self, mapped: Any) -> None:
            self._plain = np.asarray(mapped)

    @cache
    def whole() -> Any:
        reader: Any = PlainReader(file)
        for part in gguf_parts(file)[1:]:
            reader.tensors += PlainReader(part).tensors
        _check_count(reader)
        return reader

    def open_file(path: Any, *args: Any, **options: Any) -> Any:
        return whole() if os.path.samefile(path, file) else one_file(path, *args, **options)

    # The table of names would be made anew for each module of the model.
    package.GGUFReader, package.get_tensor_name_map = open_file, cache(names)
    try:
        yield
    finally:
        package.GGUFReader, package.get_tensor_name_map = one_file, names


def _check_count(reader: Any) -> None:
    field = reader.get_field("split.tensors.count")
    if field is not None and field.contents() != len(reader.tensors):
        raise ValueError(f"the parts hold {len(reader.tensors)} of the model's {field.contents()} tensors")
