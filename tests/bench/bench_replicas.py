"""Replicas on this machine: the same artefacts, how much two do, and what deaths cost.

python -m tests.bench.bench_replicas [identical] [efficiency] [kills]

`identical`: stages mine to eval in one process and over 2, 4 and 7 replicas, files compared
byte by byte. `efficiency`: stage mine over one and over two replicas of one thread each, in turns in the same
processes. `kills`: a replica killed with SIGKILL every 10 s.
"""

from __future__ import annotations

import os
import random
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from app.runs.client import start_worker
from engine import events as ev
from engine.config.file import load_config
from engine.config.scale import ScaleSection
from engine.esm.mining.mine_stage import Mine
from engine.files import csv_text, write_atomic
from engine.lm.loading.load import load_model
from engine.run.directory import RunDirectory
from engine.run.event_log import LogReader
from engine.run.stage import StageContext
from engine.scale.spread import ReplicaSpread
from engine.scale.work import in_process
from tests.kill_and_resume import DEMO, artefacts, prepared, run_whole

RESULTS = Path(__file__).parent / "results"
ALL = (
    "run.stages=[mine, select, memory, eval]",
    "task.train_size=56", "task.eval_size=28", "offline_mine.K=4",
    "offline_mine.batch_size_examples=4", "online.batch_size_examples=4", "eval.batch_size_greedy=4",
    "eval.methods=[greedy, majority_vote, esm]", "eval.ablations=[no_probing, random_vector]", "offline_select.B=60",
)  # fmt: skip
KILLED = (
    "run.stages=[mine, select, memory, eval]", "task.train_size=96", "task.eval_size=32",
    "offline_mine.batch_size_examples=4", "online.batch_size_examples=4", "eval.batch_size_greedy=8",
    "eval.methods=[greedy, majority_vote, esm]", "eval.ablations=[no_probing, random_vector]",
)  # fmt: skip


def over(replicas: int) -> tuple[str, ...]:
    """The setting for so many."""
    return (f"scale.replicas={replicas}",)


def events_of(run: RunDirectory) -> list[ev.Event]:
    return [entry.event for entries in iter(LogReader(run.events).poll, []) for entry in entries]


# ---------------------------------------------------------------- the same artefacts


def identical() -> None:
    """One line a number of replicas."""
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        expected: dict[str, str] = {}
        for replicas in (1, 2, 4, 7):
            run = prepared(Path(folder), f"replicas{replicas}", (*ALL, *over(replicas)))
            seconds = run_whole(run)
            found = artefacts(run)
            expected = expected or found
            different = sorted(
                name for name in found.keys() | expected if found.get(name) != expected.get(name)
            )
            rows.append(
                {
                    "replicas": replicas,
                    "files": len(found),
                    "different": len(different),
                    "seconds": round(seconds, 1),
                }
            )
            print(rows[-1], *different[:5], flush=True)
    write_atomic(RESULTS / "replicas_identical.csv", csv_text(rows))


# ---------------------------------------------------------------- a replica killed every 10 s


def kills(every: float = 10.0) -> None:
    """Whole run, killed run, compared."""
    with tempfile.TemporaryDirectory() as folder:
        whole = prepared(Path(folder), "whole", KILLED)
        alone = run_whole(whole)
        run = prepared(Path(folder), "killed", (*KILLED, *over(2)))
        began, rng, hits = time.monotonic(), random.Random(0), 0
        worker = start_worker(run)
        last = time.monotonic()
        while worker.poll() is None:
            time.sleep(0.2)
            pids = _ready(run)
            if pids and time.monotonic() - last > every:
                os.kill(rng.choice(pids), signal.SIGKILL)
                hits, last = hits + 1, time.monotonic()
        seconds = time.monotonic() - began
        lost = [event for event in events_of(run) if isinstance(event, ev.ReplicaLost)]
        same = artefacts(run) == artefacts(whole)
        row = {
            "seconds_one_process": round(alone, 1),
            "seconds_two_replicas_with_kills": round(seconds, 1),
            "kills": hits,
            "replicas_lost": len(lost),
            "batches_done_again": sum(event.redone for event in lost),
            "exit_code": worker.returncode,
            "files": len(artefacts(run)),
            "files_equal": same,
        }
        print(row)
        write_atomic(RESULTS / "replicas_kills.csv", csv_text([row]))


def _ready(run: RunDirectory) -> list[int]:
    """Processes of replicas that are up."""
    pids: dict[int, int] = {}
    for event in events_of(run):
        if isinstance(event, ev.ReplicaStarted):
            pids[event.replica] = event.pid
        elif isinstance(event, ev.ReplicaLost):
            pids.pop(event.replica, None)
    return list(pids.values())


# ---------------------------------------------------------------- efficiency at two


def efficiency(pairs: int = 7) -> None:
    """Median and range of what two replicas do against one, in turns."""
    config = load_config(
        DEMO, ["task.train_size=96", "offline_mine.batch_size_examples=8", "model.threads=1"]
    )
    spread = ReplicaSpread(ScaleSection(replicas=2))

    def seconds(members: int) -> float:
        """Of stage mine, all models loaded."""
        replicas = spread._replicas
        if replicas is not None:
            replicas.members = everyone[:members]
        with tempfile.TemporaryDirectory() as folder:
            events: list[ev.Event] = []
            how = spread if members else in_process
            Mine().run(
                StageContext("mine", config, Path(folder), events.append, lambda: None, model, spread=how)
            )
        times = [event.elapsed for event in events if isinstance(event, ev.StageProgress)]
        return times[-1]

    loaded = load_model(config.model)

    def model(section: Any) -> Any:
        return loaded

    everyone: list[Any] = []
    seconds(2)
    assert spread._replicas is not None
    everyone = list(spread._replicas.members)
    for members in (2, 1, 0):
        seconds(members)
    rows: list[dict[str, float]] = []
    for number in range(pairs):
        order = (0, 1, 2) if number % 2 else (2, 1, 0)
        took = {members: seconds(members) for members in order}
        rows.append(
            {
                "one_process_s": took[0],
                "one_replica_s": took[1],
                "two_replicas_s": took[2],
                "speedup_of_two": round(took[1] / took[2], 3),
                "efficiency": round(took[1] / took[2] / 2, 3),
                "one_replica_against_one_process": round(took[0] / took[1], 3),
            }
        )
        print(rows[-1], flush=True)
    spread._replicas.members = everyone
    spread.close()
    for name in ("efficiency", "one_replica_against_one_process"):
        found = sorted(row[name] for row in rows)
        print(f"{name}: median {statistics.median(found):.3f}, {found[0]:.3f} to {found[-1]:.3f}")
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    write_atomic(RESULTS / "replicas_efficiency.csv", csv_text(rows))


def main(arguments: Sequence[str]) -> None:
    """The named part."""
    parts = {"identical": identical, "efficiency": efficiency, "kills": kills}
    for name in arguments or parts:
        parts[name]()


if __name__ == "__main__":
    main(sys.argv[1:])
