"""What the console remembers of its user between two starts: the theme. Never a reason to fail."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path

from engine.errors import DiskError
from engine.files import write_atomic

_LARGEST = 10_000


def settings_file() -> Path:
    """`steer-tui/settings.json` in `XDG_CONFIG_HOME`, else in `~/.config`. Raises RuntimeError without a home."""
    return Path(os.environ.get("XDG_CONFIG_HOME") or "~/.config").expanduser() / "steer-tui" / "settings.json"


def read_theme() -> str:
    """The theme's name; "" where there is none, or where the file cannot be read or is not ours."""
    try:
        with open(settings_file(), encoding="utf-8") as file:
            known = json.loads(file.read(_LARGEST))
    except (OSError, ValueError, RecursionError, RuntimeError):
        return ""
    theme = known.get("theme") if isinstance(known, dict) else None
    return theme if isinstance(theme, str) else ""


def write_theme(name: str) -> None:
    """Remember the theme; where that is not possible it is forgotten."""
    with suppress(DiskError, RuntimeError):
        write_atomic(settings_file(), json.dumps({"theme": name}) + "\n")
