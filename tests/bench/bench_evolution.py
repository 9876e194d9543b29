"""The evolution on the model that comes along, with several seeds: best deltas against none and a length cap.

    python -m tests.bench.bench_evolution [seeds] [iterations]

Each seed draws its own questions, clusters and minibatches. Writes results/evolution.csv.
"""

from __future__ import annotations

import csv
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from engine.config.file import load_config
from engine.events import MethodCompared, without_envelope
from engine.evolution.clusters.clusters_stage import BuildClusters
from engine.evolution.evolve_stage import Evolve
from engine.lm.load import load_model
from tests.kill_and_resume import DEMO
from tests.run_stage import run_stage

RESULTS = Path(__file__).resolve().parent / "results" / "evolution.csv"


def evolve(seed: int, iterations: int) -> list[dict[str, Any]]:
    """The rows of one seed's comparison."""
    config = load_config(DEMO, [f"run.seed={seed}", f"evolution.iterations={iterations}"])
    model = load_model(config.evolution_model)
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        run_stage(BuildClusters(), config, Path(folder), model)
        events = run_stage(Evolve(), config, Path(folder), model)
        seconds = time.monotonic() - began
    rows = [event for event in events if isinstance(event, MethodCompared)]
    for row in rows:
        print(
            f"seed {seed}  {row.method:13} correct {row.correctness:.3f} [{row.wilson_low:.3f}, {row.wilson_high:.3f}]"
            f"  tokens {row.mean_tokens:5.1f}  composite {row.composite:.3f}"
            + (
                f"  difference {row.difference:+.3f} [{row.low:+.3f}, {row.high:+.3f}]"
                if row.low is not None
                else ""
            ),
            flush=True,
        )
    print(f"seed {seed}: {seconds:.0f} s", flush=True)
    return [{"seed": seed, "iterations": iterations} | without_envelope(row) for row in rows]


def main() -> None:
    """All seeds, one after another."""
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    iterations = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    rows = [row for seed in range(seeds) for row in evolve(seed, iterations)]
    RESULTS.parent.mkdir(exist_ok=True)
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
