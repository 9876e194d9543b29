"""Reaching a Unix socket whose path is longer than the kernel allows in an address."""

from __future__ import annotations

import os
from pathlib import Path

LONGEST = 107 if os.uname().sysname == "Linux" else 103
"""Bytes of a path in `sockaddr_un`, the closing zero not counted."""


def fits(path: str) -> bool:
    """Whether `path` can be an address."""
    return len(os.fsencode(path)) <= LONGEST


def reachable_address(path: Path) -> str | None:
    """An address for the socket at `path` (or at the end of the link there), None if no way of writing it
    is short enough."""
    ways = [str(path), os.path.realpath(path), os.path.relpath(path)]
    return next(filter(fits, ways), None)
