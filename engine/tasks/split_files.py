"""The files of a folder that hold a split, as data sets are published: a file, shards, or a folder for each split."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from engine.errors import DataError

SUFFIXES = (".jsonl", ".parquet", ".json", ".csv")
_ALIASES = {"validation": ("validation", "valid", "val", "dev"), "dev": ("dev", "validation", "valid", "val")}
_SHARD = re.compile(r"-(\d{5})-of-(\d{5})")


def split_files(
    folder: Path, split: str, where: str, suffixes: Sequence[str] = SUFFIXES, prefer: Sequence[str] = ()
) -> list[Path]:
    """The file of `split`, or all its shards in order.

    Recognises `test.jsonl`, `ARC-Challenge-Test.jsonl`, `test-00000-of-00002-9ee8.parquet` and `test/0000.parquet`,
    at any depth. Where several folders hold the split, the first name in `prefer` decides. Raises DataError at the
    configuration field `where`: no file, several files that are not shards, or a missing shard.
    """
    if not folder.is_dir():
        raise DataError(
            what="no such file or folder", where=f"{where}: {folder}", hint=_hint(split, suffixes)
        )
    groups: dict[Path, list[Path]] = {}
    for path in sorted(folder.rglob("*")):
        if path.suffix in suffixes and path.is_file() and _holds(path.relative_to(folder), split):
            groups.setdefault(path.parent, []).append(path)
    for name in prefer:
        preferred = {at: files for at, files in groups.items() if name in at.relative_to(folder).parts}
        groups = preferred or groups
    if not groups:
        raise DataError(
            what=f"no file of the split `{split}`",
            where=f"{where}: {folder}",
            hint=_hint(split, suffixes),
        )
    files = [path for group in groups.values() for path in group]
    _check_shards(files, split, where)
    return files


def _holds(path: Path, split: str) -> bool:
    stem = path.name.removesuffix(path.suffix).lower()
    names = _ALIASES.get(split.lower(), (split.lower(),))
    if path.parent.name.lower() in names:
        return stem.isdigit() or _SHARD.search(stem) is not None
    return any(re.fullmatch(rf"(.*-)?{re.escape(name)}(-\d.*)?", stem) for name in names)


def missing_shards(names: Iterable[str]) -> list[str]:
    """The missing shards of files named like `train-00000-of-00002-d810.parquet`, e.g. `train-00001-of-00002`."""
    present: dict[tuple[str, int], set[int]] = defaultdict(set)
    for name in names:
        if match := _SHARD.search(name):
            present[name[: match.start()], int(match[2])].add(int(match[1]))
    return [
        f"{Path(stem).name}-{number:05d}-of-{count:05d}"
        for (stem, count), numbers in present.items()
        for number in sorted(set(range(count)) - numbers)
    ]


def _check_shards(files: Sequence[Path], split: str, where: str) -> None:
    kinds = {(path.parent, path.suffix) for path in files}
    shards = all(_SHARD.search(path.name) for path in files) or all(path.stem.isdigit() for path in files)
    if len(kinds) > 1 or (len(files) > 1 and not shards):
        raise DataError(
            what=f"several files may be the split `{split}`: {', '.join(map(str, files[:3]))}",
            where=where,
            hint="name the right folder or file itself",
        )
    if missing := missing_shards(map(str, files)):
        raise DataError(
            what=f"the split `{split}` is incomplete: {', '.join(missing[:3])} missing",
            where=str(files[0].parent),
            hint="fetch the whole data set again",
        )


def _hint(split: str, suffixes: Sequence[str]) -> str:
    names = " or ".join(f"{split}{suffix}" for suffix in suffixes[:2])
    return f"put {names} into it (shards like {split}-00000-of-00002.parquet are fine), or name another path"
