"""The folder of a new run, made without a configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from engine.run.directory import RunDirectory, new_record
from engine.run.directory import create_run as create


def create_run(outputs: Path, name: str, *, config_text: str, **more: Any) -> RunDirectory:
    """As a start makes it; `more`: as `new_record` takes it."""
    return create(outputs, new_record(name, **more), config_text)
