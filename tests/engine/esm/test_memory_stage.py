"""The memory's keys, as they are stored."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from engine.config.file import load_config
from engine.errors import ConfigError
from engine.esm import layout
from engine.esm.library.memory_stage import BuildMemory
from engine.esm.vectors import load_vector
from engine.events import Event
from engine.files import read_jsonl
from engine.lm.loading.load import EMBEDDED
from engine.lm.transformers.model import TransformersModel
from tests.kill_and_resume import DEMO
from tests.run_stage import run_stage
from tests.small_esm import SMALL


@pytest.fixture(scope="module")
def model() -> TransformersModel:
    return TransformersModel.load(str(EMBEDDED), device="cpu", dtype="float32")


@pytest.fixture
def mined(esm_run: tuple[Path, list[Event]], tmp_path: Path) -> Path:
    """A run of its own with the small run's library."""
    folder = tmp_path / "mined"
    shutil.copytree(layout.library(esm_run[0]), layout.library(folder))
    return folder


def test_keys_are_kept_as_they_are_where_that_is_asked(mined: Path, model: TransformersModel) -> None:
    folder = layout.library(mined)
    raw = np.stack([load_vector(folder / row["key_path"]) for row in read_jsonl(folder / "library.jsonl")])
    lengths = np.linalg.norm(raw, axis=1, keepdims=True)
    assert np.abs(lengths - 1).max() > 0.1
    for normalised, keys in (("false", raw), ("true", raw / lengths)):
        config = load_config(DEMO, [*SMALL, f"offline_memory.normalize_keys={normalised}"])
        run_stage(BuildMemory(), config, mined, model)
        np.testing.assert_allclose(np.load(layout.memory(mined) / "keys.npy"), keys, rtol=1e-5)


def test_vectors_of_other_tools_are_refused_with_what_to_do_instead() -> None:
    with pytest.raises(ConfigError, match=r"imports is None and can no longer be set: .*eval\.vector"):
        load_config(DEMO, ["offline_memory={imports: vectors.jsonl}"])
    assert load_config(DEMO, ["offline_memory={normalize_keys: true, imports: null}"])
