"""What is typed as a sweep, and the process that works on one."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from app.runs import sweeps
from app.runs.sweeps import SweepPlan, plan_sweep, queue_works, start_queue, stop_queue
from engine.errors import ConfigError, RunError
from engine.run.lock import RunLock


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "a.yaml"
    path.write_text("run: {name: a, stages: [clusters]}\n")
    return path


def test_settings_and_runs_of_a_plan(config: Path) -> None:
    """Three settings with two seeds each are six runs; the first has the first value of each."""
    plan = plan_sweep(config, ["online.L=1,2,4", "task.train_size=9", "run.seed=3..4"])
    assert plan is not None and plan == SweepPlan(
        ["online.L=1,2,4", "run.seed=3..4"], ["task.train_size=9"],
        ["task.train_size=9", "online.L=1", "run.seed=3"], 3, 6,
    )  # fmt: skip
    assert plan_sweep(config, ["online.L=1"]) is None and plan_sweep(config, []) is None


@pytest.mark.parametrize("changes", [["online.L=1,0"], ["online.L=1,2", "task.train_size=-1"]])
def test_each_value_of_a_plan_must_be_right(config: Path, changes: list[str]) -> None:
    with pytest.raises(ConfigError):
        plan_sweep(config, changes)


def test_a_plan_is_prepared_with_all_that_was_typed(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[object, ...]] = []

    def prepare(*given: object) -> SimpleNamespace:
        asked.append(given)
        return SimpleNamespace(path=Path("made"))

    monkeypatch.setattr("engine.sweep.prepare.prepare_sweep", prepare)
    plan = SweepPlan(["online.L=1,2"], ["task.train_size=9"], ["task.train_size=9", "online.L=1"], 2, 2)
    assert sweeps.prepare_planned(config, plan, "o") == Path("made")
    assert sweeps.prepare_planned(config, plan, None) == Path("made")
    [(path, specs, axes, overrides), (*_, alone)] = asked
    assert (path, specs, overrides) == (config, plan.specs, ["task.train_size=9", 'run.outputs="o"'])
    assert [(axis.field, list(axis.values)) for axis in axes] == [("online.L", [1, 2])]  # type: ignore[attr-defined]
    assert alone == ["task.train_size=9"]


def test_one_process_works_on_a_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[tuple[str, Path]] = []
    monkeypatch.setattr(sweeps, "start_detached", lambda *arguments: begun.append(arguments))
    assert not queue_works(tmp_path) and not stop_queue(tmp_path)
    lock = RunLock(tmp_path / "worker.lock")
    assert queue_works(tmp_path)
    with pytest.raises(RunError) as error:
        start_queue(tmp_path)
    assert error.value.what.startswith(f"process {os.getpid()} on ")
    assert error.value.what.endswith(" is at work on this sweep")
    assert (error.value.where, error.value.hint) == (
        str(tmp_path), "stop it first, or watch it in the console",
    )  # fmt: skip
    lock.release()
    assert begun == [] and not queue_works(tmp_path)
    start_queue(tmp_path)
    assert begun == [("sweep", tmp_path)]


def test_the_lock_of_a_killed_process_stops_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[tuple[str, Path]] = []
    monkeypatch.setattr(sweeps, "start_detached", lambda *arguments: begun.append(arguments))
    monkeypatch.setattr(sweeps, "read_lock", lambda path: SimpleNamespace(alive=False))
    start_queue(tmp_path)
    assert begun == [("sweep", tmp_path)] and not queue_works(tmp_path)
