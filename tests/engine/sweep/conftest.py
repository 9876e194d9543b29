"""Sweeps over two small stages without a model."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.config.stages import STAGES
from engine.run.directory import RunDirectory
from engine.run.worker import run_worker
from engine.sweep.grammar import read_axes
from engine.sweep.prepare import prepare_sweep
from engine.sweep.runs import RunMaker
from engine.sweep.sweep import Point, SweepFolder
from tests.conftest import ROOT
from tests.stages.sweep_sections import SweepSections

CONFIG = """\
run: {name: test, stages: ["tests.stages.sweep_stages:Gather", "tests.stages.sweep_stages:Weigh"]}
task: {train_size: 4}
online: {L: 7, k_scale: 1.0, beta: 0.5}
"""


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration of the two stages, which workers can import, and which say what they read."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "tests/stages"), str(ROOT)]))
    for entry in SweepSections.stage_entries:
        monkeypatch.setitem(STAGES, entry.name, entry)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    path = tmp_path / "config.yaml"
    path.write_text(CONFIG.replace("test,", f"test, outputs: {tmp_path / 'outputs'},"))
    return path


@pytest.fixture
def sweep(config: Path) -> Callable[..., SweepFolder]:
    """`sweep("online.L=3,5", ..., jobs=2)`: a prepared sweep."""

    def make(*specs: str, overrides: tuple[str, ...] = (), jobs: int = 1) -> SweepFolder:
        return prepare_sweep(config, specs, read_axes(specs), overrides, jobs=jobs)

    return make


def work_on(folder: SweepFolder) -> RunMaker:
    """All runs of a sweep, one after the other in this process."""
    maker = RunMaker(folder, folder.read())
    for point in maker.record.all_points:
        assert run_worker(made(maker, point).path) == 0
    return maker


def made(maker: RunMaker, point: Point) -> RunDirectory:
    """A run of the sweep, with what can be taken over now."""
    return maker.make(point, maker.donor(point, maker.made(maker.record.all_points)))


def results(run: RunDirectory) -> dict[str, bytes]:
    """The files that the stages left."""
    return {
        path.relative_to(run.path).as_posix(): path.read_bytes()
        for folder in ("gather", "weigh")
        for path in sorted((run.path / folder).rglob("*"))
    }
