"""Of N runs, each killed with SIGKILL at random moments of its work: how many end with the whole run's files?

    python -m tests.bench.bench_kill_and_resume [N] [esm | evolution | gflownet | pool | selector | slsm ...]

Writes results/kill_and_resume.csv, a row as each run ends; runs that stand there with this commit are not done again.
"""

from __future__ import annotations

import csv
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from app.runs.client import prepare_resume
from engine.run.directory import RunDirectory
from tests.bench.nursery import Nursery
from tests.kill_and_resume import (
    SMALL,
    SMALL_EVOLUTION,
    SMALL_GFLOWNET,
    SMALL_POOL,
    SMALL_SELECTOR,
    SMALL_SLSM,
    artefacts,
    prepared,
)

TABLE = Path(__file__).resolve().parent / "results" / "kill_and_resume.csv"
FIELDS = ("commit", "method", "run", "kills", "files", "differing")
MOST_KILLS = 3
SYSTEMS: dict[str, Sequence[str]] = {
    "esm": (*SMALL, "task.train_size=2", "task.eval_size=2", "offline_mine.K=4", "offline_mine.K_pos=2",
            "offline_mine.K_neg=2", "offline_mine.max_new_tokens=80", "offline_mine.batch_size_examples=1",
            "control_points.M=3", "online.batch_size_examples=1", "online.L=2", "online.probe_tokens=4",
            "decode.max_new_tokens=60", "eval.batch_size_greedy=1", "eval.ablations=[no_probing]"),
    "evolution": (*SMALL_EVOLUTION, "evolution.iterations=2", "evolution.minibatch_size=2", "evolution.pool_size=20",
                  "evolution.validation_size=2", "evolution.test_size=2", "evolution.batch_size=1"),
    "gflownet": SMALL_GFLOWNET,
    "pool": SMALL_POOL,
    "selector": (*SMALL_SELECTOR, "pool.train_queries=10", "pool.heldout_queries=4", "pool.max_eval_pairs=10",
                 "selector.supervised_steps=12", "selector.policy_steps=12", "selector.oracle_pairs=20",
                 "selector.eval_every=6", "selector.checkpoint_every=5"),
    "slsm": (*SMALL_SLSM, "slsm.data.conversations=6"),
}  # fmt: skip


def run_whole(nursery: Nursery, run: RunDirectory) -> float:
    """Let it work to its end; the seconds."""
    began = time.monotonic()
    nursery.start(run.path.absolute())
    code = nursery.wait()
    assert code == 0, f"exit code {code}: {run.worker_log.read_text()[-2000:]}"
    return time.monotonic() - began


def run_killed(nurseries: Sequence[Nursery], run: RunDirectory, within: float, rng: random.Random) -> int:
    """Kill up to `MOST_KILLS` times, each at a moment drawn from 0 to `within` seconds, then let it end; the kills
    that hit. Attempts take turns with the nurseries."""
    for attempt in range(MOST_KILLS):
        nursery = nurseries[attempt % len(nurseries)]
        pid = nursery.start(run.path.absolute())
        timer = threading.Timer(rng.uniform(0, within), _kill, (pid,))
        timer.start()
        code = nursery.wait()
        timer.cancel()
        if code == 0:
            return attempt
        assert code == -signal.SIGKILL, f"exit code {code}: {run.worker_log.read_text()[-2000:]}"
        prepare_resume(run, None)
    run_whole(nurseries[MOST_KILLS % len(nurseries)], run)
    return MOST_KILLS


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def measure(method: str, runs: int, commit: str) -> None:
    """Do the runs of one method that the table does not hold."""
    known = {int(row["run"]) for row in _rows() if (row["method"], row["commit"]) == (method, commit)}
    missing = [index for index in range(runs) if index not in known]
    if not missing:
        return
    with tempfile.TemporaryDirectory() as folder, Nursery(1) as first, Nursery(2) as second:
        whole = prepared(Path(folder), "whole", SYSTEMS[method])
        seconds = run_whole(first, whole)
        expected = artefacts(whole)
        print(f"{method}: {seconds:.1f} s, {len(expected)} files", flush=True)
        for index in missing:
            run = prepared(Path(folder), f"killed{index}", SYSTEMS[method])
            kills = run_killed((first, second), run, seconds, random.Random(f"{method} {index}"))
            found = artefacts(run)
            names = sorted(found.keys() | expected.keys())
            differing = " ".join(name for name in names if found.get(name) != expected.get(name))
            _add(commit, method, index, kills, len(expected), differing)


def _rows() -> list[dict[str, str]]:
    if not TABLE.exists():
        return []
    with TABLE.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _add(*row: str | int) -> None:
    new = not TABLE.exists()
    with TABLE.open("a", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        if new:
            writer.writerow(FIELDS)
        writer.writerow(row)


def main(arguments: list[str]) -> None:
    """Measure, then print a line for each method."""
    runs = next((int(word) for word in arguments if word.isdigit()), 100)
    asked = subprocess.run(
        ["git", "log", "-1", "--format=%h", "--", "engine"], capture_output=True, text=True, check=True
    )
    commit = asked.stdout.strip()
    for method in [word for word in arguments if word in SYSTEMS] or SYSTEMS:
        measure(method, runs, commit)
        rows = [row for row in _rows() if (row["method"], row["commit"]) == (method, commit)]
        same = sum(not row["differing"] for row in rows)
        kills = sum(int(row["kills"]) for row in rows)
        print(
            f"{method}: {same} of {len(rows)} equal ({rows[0]['files']} files each), {kills} kills",
            flush=True,
        )


if __name__ == "__main__":
    main(sys.argv[1:])
