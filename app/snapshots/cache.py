"""The folder of snapshots in the user's cache: a file a log, the oldest removed when they take too much room."""

from __future__ import annotations

import hashlib
import os
import time
from contextlib import suppress
from pathlib import Path

MOST_BYTES = 2_000_000_000
_STALE_PART = 3_600.0


def cache_folder() -> Path:
    """`steer-tui/logs` in `XDG_CACHE_HOME`, else in `~/.cache`. Raises RuntimeError where there is no home."""
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "steer-tui" / "logs"


def file_of(log: Path) -> Path:
    """Where the snapshot of `log` belongs. Raises RuntimeError, OSError."""
    name = hashlib.sha256(os.fsencode(log.resolve())).hexdigest()[:24]
    return cache_folder() / f"{name}.snapshot"


def make_room(keep: Path, most: int = MOST_BYTES) -> None:
    """Remove snapshots that were not used for longest until all take `most` bytes, but never `keep`; and what writers
    that were killed have left."""
    with suppress(OSError):
        used = []
        for entry in os.scandir(keep.parent):
            status = entry.stat(follow_symlinks=False)
            if entry.name.endswith(".part") and time.time() - status.st_mtime > _STALE_PART:
                os.unlink(entry.path)
            elif entry.name.endswith(".snapshot"):
                used.append((status.st_mtime, status.st_size, Path(entry.path)))
        room = most
        for _, size, path in sorted(used, reverse=True):
            room -= size
            if room < 0 and path != keep:
                path.unlink()
