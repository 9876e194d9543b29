"""ESM over a 3×3 sweep against nine separate runs: time, and whether the files are the same; and a sweep of 12 that is
killed at random and resumed against one that is not.

    python -m tests.bench.bench_sweep [time | kill] [kills]
"""

from __future__ import annotations

import os
import random
import resource
import signal
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from app.runs.client import prepare_run
from app.runs.sweeps import start_queue
from engine.run.directory import discover
from engine.sweep.grammar import read_axes
from engine.sweep.prepare import point_changes, prepare_sweep
from engine.sweep.results import SweepReader
from engine.sweep.sweep import SweepFolder
from tests.kill_and_resume import DEMO, artefacts, run_whole

COMMON = (
    "run.stages=[mine, select, memory, eval]", "run.name=esm", "task.train_size=48", "task.eval_size=24",
    "eval.methods=[greedy, esm]", "eval.ablations=[]", "online.record_null=false",
)  # fmt: skip
NINE = ("online.L=1,3,5", "online.tau_null=0,0.1,0.2")
TWELVE = ("online.L=1,3", "online.tau_null=0,0.1,0.2", "offline_select.B=50,800")


def prepared(outputs: Path, specs: tuple[str, ...], jobs: int = 1) -> SweepFolder:
    """A sweep that has not begun, and has no run on a second split."""
    common = [*COMMON, f"run.outputs={outputs}"]
    return prepare_sweep(DEMO, specs, read_axes(specs), common, jobs=jobs, choose_on="")


def whole(folder: SweepFolder) -> float:
    """Work on a sweep to its end; returns the seconds it took."""
    began = time.monotonic()
    assert start_queue(folder.path).wait() == 0
    return time.monotonic() - began


def cpu() -> float:
    """Seconds of a CPU that all processes started here have used, which other programs' load does not change much."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def same_files(folder: SweepFolder, others: list[dict[str, str]]) -> int:
    """Of how many runs all files are those of the others."""
    points = folder.read().points
    return sum(artefacts(folder.run(point)) == other for point, other in zip(points, others, strict=True))


def measure_time(outputs: Path) -> None:
    """Print seconds, their ratio, and how often each stage was done."""
    folder = prepared(outputs / "sweep", NINE)
    alone: list[dict[str, str]] = []
    seconds, began = 0.0, cpu()
    for point in folder.read().points:
        run = prepare_run(
            DEMO, [*COMMON, f"run.outputs={outputs / 'alone'}", *point_changes(folder.read(), point)]
        )
        seconds += run_whole(run)
        alone.append(artefacts(run))
    between = cpu()
    swept = whole(folder)
    work, swept_work = between - began, cpu() - between
    counts = {name: own for name, (own, _) in SweepReader(folder).read().counts.items()}
    print(f"nine separate runs {seconds:.0f} s, sweep {swept:.0f} s: ratio {seconds / swept:.2f}", flush=True)
    print(
        f"of a CPU: {work:.0f} s and {swept_work:.0f} s: ratio {work / swept_work:.2f}; done {counts}",
        flush=True,
    )
    print(
        f"runs with the same files: {same_files(folder, alone)} of {len(alone)} ({len(alone[0])} files each)"
    )


def measure_kills(outputs: Path, kills: int) -> None:
    """Print how many kills hit what, and whether the files are the same."""
    expected = prepared(outputs / "whole", TWELVE, jobs=2)
    seconds = whole(expected)
    folder, rng = prepared(outputs / "killed", TWELVE, jobs=2), random.Random(1)
    hits = {"queue": 0, "worker": 0}
    for _ in range(kills):
        process = start_queue(folder.path)
        time.sleep(rng.uniform(1, seconds / kills * 1.5))
        for run in discover(outputs / "killed"):
            if run.alive and run.pid is not None and rng.random() < 0.6:
                os.kill(run.pid, signal.SIGKILL)
                hits["worker"] += 1
        if process.poll() is None:
            process.kill()
            hits["queue"] += 1
        process.wait()
        time.sleep(0.5)
    while any(run.alive for run in discover(outputs / "killed")):
        time.sleep(0.5)
    with suppress(KeyboardInterrupt):
        whole(folder)
    others = [artefacts(expected.run(point)) for point in expected.read().points]
    for name, sweep in (("unkilled", expected), ("killed", folder)):
        print(f"{name}: {SweepReader(sweep).read().counts}")
    print(f"kills {hits}; runs with the same files: {same_files(folder, others)} of {len(others)}")


if __name__ == "__main__":
    words = sys.argv[1:]
    with tempfile.TemporaryDirectory() as place:
        if "kill" not in words:
            measure_time(Path(place))
        if "time" not in words:
            measure_kills(Path(place), next((int(word) for word in words if word.isdigit()), 8))
