"""A small run of ESM, made once for all tests that need a finished one."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.config.file import dump_config, load_config
from engine.esm.eval_stage import Evaluate
from engine.esm.memory_stage import BuildMemory
from engine.esm.mine_stage import Mine
from engine.esm.select_stage import Select
from engine.events import Event, StageFinished
from engine.lm.load import EMBEDDED
from engine.lm.transformers.model import TransformersModel
from engine.run.stage import StageResult
from tests.kill_and_resume import DEMO
from tests.run_stage import run_stage
from tests.small_esm import SMALL


@pytest.fixture(scope="session")
def embedded() -> TransformersModel:
    """The embedded model, one for all."""
    return TransformersModel.load(str(EMBEDDED), device="cpu", dtype="float32", max_num_seqs=128)


@pytest.fixture(scope="session")
def esm_run(
    embedded: TransformersModel, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, list[Event]]:
    """The run's folder, and everything logged, with the end of eval. Read only."""
    folder = tmp_path_factory.mktemp("run")
    (folder / "config.yaml").write_text(dump_config(load_config(DEMO, list(SMALL))))
    events: list[Event] = []
    results: list[StageResult] = []
    for stage in (Mine(), Select(), BuildMemory(), Evaluate()):
        events += run_stage(stage, load_config(DEMO, list(SMALL)), folder, embedded, results=results)
    events.append(StageFinished(stage="eval", seconds=1.0, verdict=results[-1].verdict))
    return folder, events
