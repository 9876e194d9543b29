"""A model's fingerprint: equal for equal configuration and weights, different as soon as either changes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from engine.regular_file import open_to_read, read_regular

WHOLE = 256 * 2**20
"""Bytes of weight files up to which every byte counts."""
BLOCKS = 64
BLOCK = 64 * 2**10
"""Of larger files only the size and `BLOCKS` blocks of `BLOCK` bytes count, evenly spread from the header (names,
shapes, types) on: training changes weights everywhere, so that 70 GB need not be read."""

NOT_THE_MODEL = ("_name_or_path", "transformers_version", "torch_dtype", "dtype", "use_cache")
"""Keys of config.json that do not change what a model computes, only where it came from or how it is loaded."""


def fingerprint(config: Path, weights: Sequence[Path]) -> str:
    """sha256 over config.json and weight files, in hexadecimal."""
    digest = hashlib.sha256()
    settings = json.loads(read_regular(config))
    computed = {key: value for key, value in settings.items() if key not in NOT_THE_MODEL}
    digest.update(json.dumps(computed, sort_keys=True).encode())
    whole = sum(path.stat().st_size for path in weights) <= WHOLE
    for path in sorted(weights, key=lambda path: path.name):
        digest.update(f"\0{path.name}\0{path.stat().st_size}\0".encode())
        _add(digest, path, whole)
    return digest.hexdigest()


def file_fingerprint(file: Path) -> str:
    """sha256 over one file that holds configuration and weights, in hexadecimal; its name does not count."""
    size = file.stat().st_size
    digest = hashlib.sha256(f"{size}\0".encode())
    _add(digest, file, size <= WHOLE)
    return digest.hexdigest()


def parts_fingerprint(files: Sequence[Path]) -> str:
    """Of one file as `file_fingerprint`; of several parts, over theirs in order."""
    digests = [file_fingerprint(file) for file in files]
    return digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()


def _add(digest: hashlib._Hash, path: Path, whole: bool) -> None:
    if whole:
        digest.update(read_regular(path))
        return
    last = max(0, path.stat().st_size - BLOCK)
    with open_to_read(path) as file:
        for index in range(BLOCKS):
            file.seek(last * index // (BLOCKS - 1))
            digest.update(file.read(BLOCK))
