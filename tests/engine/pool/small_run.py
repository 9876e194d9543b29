"""A run of the stage pool that takes a second: the digits, few queries."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from engine.config.config import Config
from engine.events import Event
from engine.pool.pool_stage import BuildPools
from engine.run.stage import StageContext
from tests.run_stage import run_stage

SMALL: dict[str, Any] = {"train_queries": 30, "heldout_queries": 8}


def small_config(**changes: Any) -> Config:
    """The small run's configuration, with fields of `pool` changed."""
    return Config.model_validate({"pool": SMALL | changes})


def run_pool(folder: Path, **changes: Any) -> list[Event]:
    """Run the stage; its events."""
    return run_stage(BuildPools(), small_config(**changes), folder)


def context_of(
    folder: Path, emit: Callable[[Event], None], checkpoint: Callable[[], None], **changes: Any
) -> StageContext:
    """A context whose checkpoints are one's own."""
    return StageContext("pool", small_config(**changes), folder, emit, checkpoint, None)  # type: ignore[arg-type]
