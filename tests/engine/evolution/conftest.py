"""What the tests of the loop leave out, and what they begin with."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.lm.protocol import LanguageModel


@pytest.fixture(scope="module")
def unchecked_processors() -> Iterator[None]:
    """A clean process for each processor takes seconds: test_processor.py starts them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("engine.evolution.processor.check_processor", lambda *given: None)
        yield


@pytest.fixture
def undrawn_plot(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is drawn after each iteration."""
    monkeypatch.setattr("engine.evolution.evolve_stage.draw", lambda history: b"PNG")


@pytest.fixture(scope="module")
def model() -> LanguageModel:
    from engine.lm.loading.load import load_model  # not by every test of the folder
    from tests.engine.evolution.small_evolution import MODEL

    return load_model(MODEL)


@pytest.fixture(scope="module")
def clustered(model: LanguageModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    from engine.evolution.clusters.clusters_stage import BuildClusters
    from tests.engine.evolution.small_evolution import configured
    from tests.run_stage import run_stage

    folder = tmp_path_factory.mktemp("clustered")
    run_stage(BuildClusters(), configured(), folder, model)
    return folder


@pytest.fixture
def run(clustered: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(clustered, tmp_path / "run"))
