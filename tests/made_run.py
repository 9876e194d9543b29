"""The folder of a new run, made without a configuration."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from engine.run.directory import RunDirectory, new_record, new_run_id
from engine.run.directory import create_run as create


def create_run(outputs: Path, name: str, *, config_text: str, **more: Any) -> RunDirectory:
    """As a start makes it; `more`: as `new_record` takes it."""
    return create(outputs, new_record(name, new_run_id(time.time()), **more), config_text)
