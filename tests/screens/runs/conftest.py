"""Folders of runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from engine.run.directory import RunDirectory, StageRecord
from tests.made_run import create_run


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., RunDirectory]:
    """`make("demo", "stopped", age=60)`: a run below `outputs`."""

    def make_run(name: str, status: str, age: float = 0.0, failure: str = "") -> RunDirectory:
        run = create_run(
            tmp_path / "outputs",
            name,
            seed=1,
            stages=["mine", "eval"],
            config={},
            config_text="{}\n",
            versions={},
        )
        record = run.read()
        record.status, record.failure, record.attempts = status, failure, 1
        record.created -= age
        done = "finished" if status == "finished" else "pending"
        record.stages = {"mine": StageRecord(status="finished", seconds=61), "eval": StageRecord(status=done)}
        run.write(record)
        return run

    return make_run
