"""The process that starts the runs of a sweep: stopped, killed, resumed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from app.runs.sweeps import start_queue, stop_queue
from engine.run.directory import discover
from engine.sweep.results import SweepReader
from engine.sweep.sweep import SweepFolder
from tests.engine.sweep.conftest import results, work_on

Sweep = Callable[..., SweepFolder]
WaitUntil = Callable[..., None]
GATHER, WEIGH = "tests.stages.sweep_stages:Gather", "tests.stages.sweep_stages:Weigh"


@contextmanager
def queue(folder: SweepFolder) -> Iterator[subprocess.Popen[bytes]]:
    """The process; it and whatever it started are gone afterwards."""
    process = start_queue(folder.path)
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        process.wait(120)
        for pid in workers(folder):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def workers(folder: SweepFolder) -> list[int]:
    return [run.pid for run in discover(folder.path.parent.parent) if run.alive and run.pid is not None]


def finish(folder: SweepFolder) -> None:
    with queue(folder) as process:
        assert process.wait(120) == 0


def test_stopped_and_resumed(sweep: Sweep, wait_until: WaitUntil, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = sweep("online.k_scale=0.5,2", overrides=("task.train_size=200",))
    monkeypatch.setenv("ITEM_SECONDS", "0.05")
    items = folder.run(folder.read().points[0]).path / "gather/items.jsonl"
    with queue(folder) as process:
        wait_until(lambda: items.exists() and b"\n" in items.read_bytes(), "the first item")
        assert stop_queue(folder.path)
        assert process.wait(120) == 130
    results_now = SweepReader(folder).read()
    assert results_now.state == "stopped" and [run.state for run in results_now.runs.values()] == ["stopped"]
    monkeypatch.setenv("ITEM_SECONDS", "0")
    finish(folder)
    found = SweepReader(folder).read()
    assert found.state == "finished" and found.counts == {GATHER: (1, 1), WEIGH: (2, 0)}
    assert found.best is found.settings[1]


def test_a_run_that_fails_keeps_no_other_from_its_end(sweep: Sweep) -> None:
    folder = sweep("online.k_scale=-1,0.5,2")
    with queue(folder) as process:
        assert process.wait(120) == 1
    found = SweepReader(folder).read()
    assert found.state == "failed" and [one.states for one in found.settings] == [
        ("failed",),
        ("finished",),
        ("finished",),
    ]
    assert found.counts[GATHER] == (1, 2)


@pytest.mark.slow
def test_killed_at_random_and_resumed_it_ends_as_one_that_never_stopped(
    sweep: Sweep, monkeypatch: pytest.MonkeyPatch
) -> None:
    specs = ("online.L=3,5,7", "online.k_scale=0.5,2", "run.seed=0,1")
    whole = work_on(sweep(*specs))
    monkeypatch.setenv("ITEM_SECONDS", "0.02")
    folder, rng = sweep(*specs, jobs=2), random.Random(2)
    for _ in range(6):
        with queue(folder) as process:
            time.sleep(rng.uniform(0.3, 2.5))  # whatever it is at then is killed
            for pid in workers(folder):
                if rng.random() < 0.7:
                    os.kill(pid, signal.SIGKILL)
            if rng.random() < 0.7:
                process.kill()
            process.wait(120)
    finish(folder)
    found = SweepReader(folder).read()
    assert len(found.runs) == 12 and found.counts == {GATHER: (6, 6), WEIGH: (12, 0)}
    for mine, theirs in zip(folder.read().points, whole.record.all_points, strict=True):
        assert mine.setting == theirs.setting
        assert results(folder.run(mine)) == results(whole.folder.run(theirs))
