"""Let the library, which reads one GGUF file, read a model in parts: the first file's settings, the tensors of all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from engine.lm.gguf_file import gguf_parts


@contextmanager
def reading_parts(file: Path) -> Iterator[None]:
    """While open, whoever opens `file` with `gguf.GGUFReader` gets the tensors of all parts, mapped from where they
    lie: nothing is copied. It raises ValueError where tensors are missing."""
    parts = gguf_parts(file)
    if len(parts) == 1:
        yield
        return
    import gguf  # in the extra [gguf]

    one_file = gguf.GGUFReader

    class PartsReader(one_file):
        def __init__(self, path: Any, *args: Any, **options: Any) -> None:
            super().__init__(path, *args, **options)
            if os.path.samefile(path, file):
                for part in parts[1:]:
                    self.tensors += one_file(part, *args, **options).tensors
                _check_count(self)

    gguf.GGUFReader = PartsReader
    try:
        yield
    finally:
        gguf.GGUFReader = one_file


def _check_count(reader: Any) -> None:
    field = reader.get_field("split.tensors.count")
    if field is not None and field.contents() != len(reader.tensors):
        raise ValueError(f"the parts hold {len(reader.tensors)} of the model's {field.contents()} tensors")
