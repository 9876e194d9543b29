"""What a run's record keeps of how it was prepared."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.runs.client import prepare_branch, prepare_run
from engine.config.changes import changed_fields
from engine.errors import ConfigError


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "file.yaml"
    path.write_text(
        "run: {name: a, stages: [clusters, evolve]}\nevolution: {iterations: 4, pool_size: 100}\n"
    )
    return path


def test_record_keeps_what_differs_from_the_file(config: Path, tmp_path: Path) -> None:
    """Also of a file that is right only with its changes; never the folder, which is no setting of the experiment."""
    typed = ["evolution.iterations=6", "evolution.pool_size=100", "online.L=5"]
    run = prepare_run(config, typed, outputs=str(tmp_path / "outputs"))
    assert run.read().changes == {"evolution.iterations": 6, "online.L": 5}
    assert prepare_run(config, outputs=str(tmp_path / "outputs")).read().changes == {}
    config.write_text("run: {name: 7}\n")
    run = prepare_run(config, ["run.name=b", "online.L=2"], outputs=str(tmp_path / "outputs"))
    assert run.read().changes == {"run.name": "b", "online.L": 2}


def test_branch_knows_where_it_began(config: Path, tmp_path: Path) -> None:
    parent = prepare_run(config, ["online.L=5"], outputs=str(tmp_path / "outputs"))
    before = parent.record.read_bytes()
    branch = prepare_branch(parent, 2, iterations=9).read()
    point = branch.branched_from
    assert point is not None and (point.name, point.run_id, point.iteration) == ("a", parent.path.name, 2)
    assert point.path == str(parent.path.absolute())
    assert branch.changes == {"online.L": 5, "evolution.iterations": 9, "run.stages": ["evolve"]}
    assert branch.config["evolution"]["branch_iteration"] == 2
    assert parent.record.read_bytes() == before


def test_refused_run_leaves_no_folder(config: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"evolution\.iterations"):
        prepare_run(config, ["evolution.iteration=3"], outputs=str(tmp_path / "outputs"))
    assert not (tmp_path / "outputs").exists()


def test_changed_fields_of_nested_sections() -> None:
    before = {"a": {"x": 1, "y": {"z": True}}, "b": None, "c": {}, "gone": 1}
    after = {"a": {"x": 1, "y": {"z": 1}}, "b": {"k": 2}, "c": {"n": 1}}
    assert changed_fields(before, after) == {"a.y.z": 1, "b": {"k": 2}, "c.n": 1, "gone": None}
    assert changed_fields(after, after) == {}
