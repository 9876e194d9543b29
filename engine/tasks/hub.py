"""Data sets on the Hugging Face hub: their files are fetched into the hub's cache, unchanged, and read from there by
the same readers as local files."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path

from engine.errors import DataError, first_line
from engine.tasks.split_files import missing_shards

PREFIX = "hub:"
"""Begins a path that names a data set of the hub: `hub:owner/name`."""
_SECONDS = 10.0


def hub_name(path: str | None) -> str | None:
    """`owner/name` of `hub:owner/name`; None for a local path. Raises DataError for an invalid name."""
    if path is None or not path.startswith(PREFIX):
        return None
    name = path.removeprefix(PREFIX)
    if len(halves := name.split("/")) != 2 or not all(halves) or " " in name:
        raise DataError(what="this is not the name of a data set", where=path, hint="write hub:owner/name")
    return name


def fetch(name: str, patterns: Sequence[str], setting: str) -> Path:
    """Folder with the files of the data set `name` that match `patterns`, fetched unless they are cached.

    Raises DataError where the hub is out of reach or has no such data set: it says which files `setting` could name
    instead.
    """
    cached = cached_files(name, patterns)
    if cached is not None:
        return cached
    from huggingface_hub import snapshot_download
    from huggingface_hub.utils import disable_progress_bars

    disable_progress_bars()  # the engine's only output is its log
    try:
        folder = Path(
            snapshot_download(name, repo_type="dataset", allow_patterns=list(patterns), etag_timeout=_SECONDS)
        )
    except Exception as error:  # any error of the hub's library, its HTTP client, or the disk
        why = first_line(error)[:200]
        raise _failed(f"the data set cannot be fetched: {why}", name, patterns, setting) from error
    if not _fitting(folder, patterns):
        raise _failed("the data set has no such file", name, patterns, setting)
    return folder


def cached_files(name: str, patterns: Sequence[str]) -> Path | None:
    """Folder with these files in the local cache; None where a file is missing. The hub is not asked."""
    from huggingface_hub import snapshot_download

    try:
        folder = Path(snapshot_download(name, repo_type="dataset", local_files_only=True))
    except (OSError, ValueError):
        return None
    paths = _fitting(folder, patterns)
    complete = all(any(fnmatch(path, pattern) for path in paths) for pattern in patterns)
    return folder if paths and complete and not missing_shards(paths) else None


def _fitting(folder: Path, patterns: Sequence[str]) -> list[str]:
    paths = [str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()]
    return [path for path in paths if any(fnmatch(path, pattern) for pattern in patterns)]


def _failed(what: str, name: str, patterns: Sequence[str], setting: str) -> DataError:
    files, page = ", ".join(patterns), f"https://huggingface.co/datasets/{name}"
    return DataError(
        what=what,
        where=f"hub:{name}",
        hint=f"go online, or copy {files} of {page} to a folder and name it in {setting}",
    )
