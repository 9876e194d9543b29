"""How many of N runs, each killed with SIGKILL at random moments, end with the whole run's files.

python -m tests.bench.bench_kill_and_resume [runs] [esm | evolution | gflownet | pool | slsm]
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.kill_and_resume import (
    SMALL,
    SMALL_EVOLUTION,
    SMALL_GFLOWNET,
    SMALL_POOL,
    SMALL_SLSM,
    artefacts,
    prepared,
    run_killed,
    run_whole,
)


def main(runs: int, small: Sequence[str]) -> None:
    """Print one line a run and the count."""
    with tempfile.TemporaryDirectory() as folder:
        whole = prepared(Path(folder), "whole", small)
        seconds = run_whole(whole)
        expected = artefacts(whole)
        same = kills = 0
        for index in range(runs):
            run = prepared(Path(folder), f"killed{index}", small)
            hits = run_killed(run, seconds, random.Random(index))
            kills += hits
            found = artefacts(run)
            same += found == expected
            differing = sorted(
                name for name in found.keys() | expected if found.get(name) != expected.get(name)
            )
            told = f"DIFFERENT: {', '.join(differing)}" if differing else "equal"
            print(f"run {index}: killed {hits} times, {told}", flush=True)
        print(f"{same} of {runs} equal ({len(expected)} files each), {kills} kills")


if __name__ == "__main__":
    systems = {
        "esm": SMALL, "evolution": SMALL_EVOLUTION, "gflownet": SMALL_GFLOWNET, "pool": SMALL_POOL, "slsm": SMALL_SLSM,
    }  # fmt: skip
    chosen = next((systems[word] for word in sys.argv[1:] if word in systems), SMALL)
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20, chosen)
