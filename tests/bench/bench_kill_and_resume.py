"""Of N runs, each killed with SIGKILL at random moments of its work: how many end with the whole run's files?

    python -m tests.bench.bench_kill_and_resume [N] [esm | evolution | gflownet | pool | selector | slsm ...]

Writes results/kill_and_resume.csv, a row as each run ends; runs that stand there with this commit are not done again.
"""

from __future__ import annotations

import csv
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.kill_and_resume import SYSTEMS, artefacts, prepared, run_killed, run_whole, seconds_of_work
from tests.nursery import Nursery

TABLE = Path(__file__).resolve().parent / "results" / "kill_and_resume.csv"
FIELDS = ("commit", "method", "run", "kills", "files", "differing")


def measure(method: str, runs: int, commit: str) -> None:
    """Do the runs of one method that the table does not hold."""
    known = {int(row["run"]) for row in _rows() if (row["method"], row["commit"]) == (method, commit)}
    missing = [index for index in range(runs) if index not in known]
    if not missing:
        return
    with tempfile.TemporaryDirectory() as folder, Nursery(1) as first, Nursery(2) as second:
        whole = prepared(Path(folder), "whole", SYSTEMS[method])
        run_whole(whole, first)
        seconds = seconds_of_work(whole)
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
