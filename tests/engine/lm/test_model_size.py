"""How large the weights are that lie on this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.config.models.model import ModelSection
from engine.lm.loading import model_size as module
from engine.lm.loading.load import EMBEDDED
from engine.lm.loading.model_size import model_size


def test_files_of_weights_are_counted_wherever_they_lie(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is not here, or is no model, has no size: loading it says so."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for folder, sizes in (("own", (3, 4)), ("cached", (5,))):
        (tmp_path / folder).mkdir()
        for number, size in enumerate(sizes):
            (tmp_path / folder / f"model-{number}.safetensors").write_bytes(bytes(size))
    monkeypatch.setattr(module, "cached_folder", {"a/b": tmp_path / "cached"}.get)
    for path, size in (("~/own", 7), (str(tmp_path / "own"), 7), ("a/b", 5), ("a/c", 0), ("none.gguf", 0)):
        assert model_size(ModelSection(backend="transformers", path=path)) == size
    assert model_size(ModelSection()) == (EMBEDDED / "model.safetensors").stat().st_size
    assert model_size(ModelSection(path="poetry")) == 0
