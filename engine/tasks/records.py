"""Raw records of a data set: JSONL or parquet on disk, or the hub."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from engine.errors import DataError

Record = tuple[str, dict[str, Any]]
"""Where it stands (file:line), and what it holds."""

HUB = {
    "gsm8k": ("openai/gsm8k", "main"),
    "math500": ("HuggingFaceH4/MATH-500", None),
    "arc-c": ("allenai/ai2_arc", "ARC-Challenge"),
    "aime": ("Maxwell-Jia/AIME_2024", None),
}


def read_records(dataset: str, path: str | None, split: str) -> Iterator[Record]:
    """Records of a file, of the file for `split` in a folder, or of the hub."""
    if path is None:
        return _hub(dataset, split)
    file = _file(Path(path), split)
    return _parquet(file) if file.suffix == ".parquet" else read_jsonl_records(file)


def _file(path: Path, split: str) -> Path:
    if path.is_file():
        return path
    found = sorted(
        p for p in path.glob("**/*") if p.suffix in (".jsonl", ".parquet") and p.stem.startswith(split)
    )
    if not found:
        raise DataError(
            what=f"no data file for the split {split!r}",
            where=str(path),
            mend=f"put {split}.jsonl or {split}.parquet there, or name a file in task.path",
        )
    return found[0]


def read_jsonl_records(path: Path) -> Iterator[Record]:
    """Objects of a JSON-lines file, blank lines left out. Raises DataError with file and line."""
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            where = f"{path}:{number}"
            try:
                record = json.loads(line)
            except ValueError as error:
                raise DataError(
                    what=f"this line is not JSON ({error})", where=where, mend="mend or remove the line"
                ) from error
            if not isinstance(record, dict):
                raise DataError(
                    what="this line is not a JSON object", where=where, mend="mend or remove the line"
                )
            yield where, record


def _parquet(path: Path) -> Iterator[Record]:
    import pyarrow
    import pyarrow.parquet as parquet

    try:
        file = parquet.ParquetFile(path)
        row = 0
        for group in range(file.num_row_groups):
            for record in file.read_row_group(group).to_pylist():
                row += 1
                yield f"{path}:row {row}", record
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(
            what=f"no readable parquet file ({error})", where=str(path), mend="fetch it again"
        ) from error


def _hub(dataset: str, split: str) -> Iterator[Record]:
    name, config = HUB[dataset]
    mend = "set task.path to a local JSONL or parquet file, or install `steer-tui[hub]` and go online"
    try:
        from datasets import load_dataset  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise DataError(
            what="the package `datasets` is not installed", where=f"hub:{name}", mend=mend
        ) from error
    try:
        rows = load_dataset(name, config, split=split)
    except (OSError, ValueError, RuntimeError) as error:
        raise DataError(what=f"the hub cannot be read ({error})", where=f"hub:{name}", mend=mend) from error
    for index, record in enumerate(rows):
        yield f"hub:{name}:{split}:{index}", dict(record)
