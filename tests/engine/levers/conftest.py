"""A run with something of every lever."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from engine.config.model import ModelSection
from engine.events import Event, QuestionSampled, without_envelope
from engine.evolution import layout as evolution
from engine.evolution.clusters.cluster_map import ClusterMap, save_cluster_map
from engine.evolution.deltas import write_deltas
from engine.files import append_jsonl
from engine.gflownet import layout as gflownet
from engine.levers.levers import Levers
from engine.levers.load import load_levers
from engine.lm.transformers.model import TransformersModel
from engine.lm.vocabulary import load_vocabulary
from tests.synthetic_gflownet import gflownet_events


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
