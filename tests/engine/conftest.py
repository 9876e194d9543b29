"""A small finished run, made once for all tests that need one."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

from engine.config.file import dump_config, load_config
from engine.config.models.model import ModelSection
from engine.esm.evaluation.eval_stage import Evaluate
from engine.esm.library.memory_stage import BuildMemory
from engine.esm.library.select_stage import Select
from engine.esm.mining.mine_stage import Mine
from engine.events import Event, QuestionSampled, StageFinished, without_envelope
from engine.evolution import layout as evolution
from engine.evolution.clusters.cluster_map import ClusterMap, save_cluster_map
from engine.evolution.deltas import write_deltas
from engine.files import append_jsonl
from engine.gflownet import layout as gflownet
from engine.levers.levers import Levers
from engine.levers.load import load_levers
from engine.lm.loading.load import EMBEDDED
from engine.lm.transformers.model import TransformersModel
from engine.lm.vocabulary import load_vocabulary
from engine.run.stage import StageResult
from tests.kill_and_resume import DEMO
from tests.made_once import made_once
from tests.run_stage import run_stage
from tests.small_esm import SMALL
from tests.stand_in_model import libraries
from tests.synthetic_gflownet import gflownet_events


@pytest.fixture(scope="session")
def embedded() -> TransformersModel:
    """The embedded model, one for all."""
    return TransformersModel.load(
        str(EMBEDDED), device="cpu", dtype="float32", max_num_seqs=128, name="embedded"
    )


@pytest.fixture(scope="session")
def stand_in_libraries() -> Iterator[None]:
    """Stand-ins for SGLang load their models in processes forked from one that has the libraries."""
    with TemporaryDirectory(prefix="steer-") as folder, libraries(Path(folder) / "socket"):
        yield


@pytest.fixture(scope="session")
def esm_run(
    embedded: TransformersModel, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, list[Event]]:
    """The run's folder, and everything logged, with the end of eval. Read only."""

    def make(folder: Path) -> tuple[Path, list[Event]]:
        (folder / "config.yaml").write_text(dump_config(load_config(DEMO, list(SMALL))))
        events: list[Event] = []
        results: list[StageResult] = []
        for stage in (Mine(), Select(), BuildMemory(), Evaluate()):
            events += run_stage(stage, load_config(DEMO, list(SMALL)), folder, embedded, results=results)
        events.append(StageFinished(stage="eval", seconds=1.0, verdict=results[-1].verdict))
        return folder, events

    return made_once(tmp_path_factory, "esm_run", make)


@pytest.fixture(scope="session")
def full_run(esm_run: tuple[Path, list[Event]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small run with deltas that make `there` unlikely, sampled paths, and a conversation memory. Read only."""
    folder = tmp_path_factory.mktemp("levers") / "run"
    shutil.copytree(esm_run[0], folder)
    vocabulary = load_vocabulary(ModelSection())
    ids = np.full(len(vocabulary), 1, dtype=np.uint8)
    ids[[place for place, text in enumerate(vocabulary.texts) if text.strip() == "there"]] = 2
    save_cluster_map(ClusterMap(ids, 3, vocabulary.fingerprint), evolution.folder(folder))
    write_deltas(evolution.deltas_best(folder), {"0": 0.0, "1": 0.0, "2": -8.0})
    sampled = [event for event in gflownet_events() if isinstance(event, QuestionSampled)]
    gflownet.folder(folder).mkdir()
    append_jsonl(gflownet.sampled_paths(folder), map(without_envelope, sampled))
    (folder / "slsm").mkdir()
    return folder


@pytest.fixture(scope="session")
def levers(full_run: Path, embedded: TransformersModel) -> Levers:
    """All that fit, on the embedded model."""
    return load_levers([full_run], load=lambda section: embedded)
