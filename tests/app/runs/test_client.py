"""What a run's record keeps of how it was prepared."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from app.runs.client import prepare_resume, prepare_run
from app.runs.orders import order
from engine.config.changes import changed_fields
from engine.config.file import load_config
from engine.errors import ConfigError, RunError
from engine.run.lock import RunLock


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


def test_refused_run_leaves_no_folder(config: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"evolution\.iterations"):
        prepare_run(config, ["evolution.iteration=3"], outputs=str(tmp_path / "outputs"))
    assert not (tmp_path / "outputs").exists()


def test_changed_fields_of_nested_sections() -> None:
    before = {"a": {"x": 1, "y": {"z": True}}, "b": None, "c": {}, "gone": 1}
    after = {"a": {"x": 1, "y": {"z": 1}}, "b": {"k": 2}, "c": {"n": 1}}
    assert changed_fields(before, after) == {"a.y.z": 1, "b": {"k": 2}, "c.n": 1, "gone": None}
    assert changed_fields(after, after) == {}


def test_a_run_that_is_resumed_with_other_stages_keeps_those_it_has_done(
    config: Path, tmp_path: Path
) -> None:
    """They come first, in the order of the record; those that are new wait."""
    run = prepare_run(config, outputs=str(tmp_path / "outputs"))
    record = run.read()
    record.stages["clusters"].status = "finished"
    run.write(record)
    prepare_resume(run)
    assert run.read() == record, "nothing is changed"
    prepare_resume(run, ["evolve", "slsm"])
    after = run.read()
    assert [(name, stage.status) for name, stage in after.stages.items()] == [
        ("clusters", "finished"), ("evolve", "pending"), ("slsm", "pending"),
    ]  # fmt: skip
    assert after.config["run"]["stages"] == load_config(run.config).run.stages == ["evolve", "slsm"]
    lock = RunLock(run.lock)
    with pytest.raises(RunError, match=f"worker {os.getpid()} on .* already works on this run"):
        prepare_resume(run)
    lock.release()


@pytest.mark.parametrize("characters", [1, 120])
def test_a_command_to_a_run_without_worker(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, characters: int
) -> None:
    """A socket's address has some hundred characters at most: of a longer one it is only known whether it is there."""
    run = prepare_run(config, outputs=str(tmp_path / ("x" * characters)))
    said = order(run, "pause")
    assert (said.text, said.severity) == (
        f"the worker does not answer ({run.control}): no worker runs: resume the run to start a worker", "error",
    )  # fmt: skip
    run.control.touch()
    if characters == 1:
        monkeypatch.chdir(run.path)
        assert order(run, "pause").text.endswith(
            ": see with `steer-tui` whether it still runs; if it runs on another machine, send the command there"
        )
        return
    assert order(run, "pause").text == (
        f"the path of the control socket is too long ({run.control}): go to the run's folder (cd) and try again"
    )
