"""`make train-embedded`: the command, and that the package does not ship what it runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from setuptools import find_packages

from engine.errors import ConfigError
from tests.training import __main__ as tool
from tests.training.recipes import RECIPES, get_recipe
from tests.training.settings import TrainingSettings

ROOT = Path(__file__).resolve().parents[2]


def test_the_command_trains_the_recipe_it_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two steps of a tiny model: a line at the step that is reported, and a folder that a model can be loaded from."""
    tiny = TrainingSettings(
        hidden_size=32, layers=1, heads=2, feed_forward=32, steps=2, batch_documents=2, report_every=2
    )
    recipe = replace(RECIPES["statements"], settings=tiny)
    monkeypatch.setattr(tool, "get_recipe", lambda name: {"statements": recipe}[name])
    monkeypatch.setattr(tool, "OUTPUTS", tmp_path)
    monkeypatch.setattr("sys.argv", ["tests.training", "statements"])
    tool.main()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("step 2 of 2  loss ") and lines[0].endswith(" tokens/s")
    assert lines[1] == f"trained: {tmp_path / 'statements' / 'model'}"
    assert (tmp_path / "statements" / "model" / "model.safetensors").is_file()


def test_a_recipe_that_is_not_there_is_named_with_those_that_are() -> None:
    assert get_recipe(None).name == "arithmetic"
    with pytest.raises(ConfigError, match=r"novels.*one of arithmetic, statements, dialogues"):
        get_recipe("novels")


def test_the_package_ships_the_models_and_not_their_training() -> None:
    shipped = find_packages(str(ROOT), include=["app*", "engine*", "screens*", "configs*"])
    assert "engine.embedded" in shipped and not any(name.startswith("engine.embedded.") for name in shipped)
    assert sorted(path.name for path in (ROOT / "engine" / "embedded").glob("*.py")) == ["__init__.py"]
