"""Memory notes on the model that comes along: every mode, both kinds of memory, several seeds of dialogues.

    python -m tests.bench.bench_slsm [seeds] [dialogues]

Writes results/slsm.csv, a line a mode and seed, and prints the means.
"""

from __future__ import annotations

import csv
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import msgspec

from engine.config_file import load_config
from engine.events import ModeScored
from engine.lm.load import load_model
from engine.slsm.slsm_stage import RunSLSM
from tests.kill_and_resume import DEMO
from tests.run_stage import run_stage

_SHOWN = ("score", "injections", "injected_tokens", "model_calls", "model_tokens", "fixed", "wasted", "broke")
RESULTS = Path(__file__).resolve().parent / "results" / "slsm.csv"


def compare(seed: int, dialogues: int) -> list[dict[str, Any]]:
    """The rows of one seed."""
    config = load_config(DEMO, [f"run.seed={seed}", f"slsm.data.conversations={dialogues}"])
    model = load_model(config.slsm_model)
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        events = run_stage(RunSLSM(), config, Path(folder), model)
        print(f"seed {seed}: {time.monotonic() - began:.0f} s", flush=True)
    return [{"seed": seed} | _figures(event) for event in events if isinstance(event, ModeScored)]


def _figures(row: ModeScored) -> dict[str, Any]:
    plain = msgspec.structs.asdict(row)
    axes = {str(axis): share for axis, share, *_ in plain.pop("by_axis")}
    return {name: value for name, value in plain.items() if name not in ("seq", "time", "stage")} | axes


def main() -> None:
    """All seeds."""
    given = [int(text) for text in sys.argv[1:]]
    seeds, dialogues = given + [3, 240][len(given) :]
    rows = [row for seed in range(seeds) for row in compare(seed, dialogues)]
    RESULTS.parent.mkdir(exist_ok=True)
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    by_mode: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        by_mode[row["mode"], row["memory_mode"]].append(row)
    for (mode, memory), own in by_mode.items():
        means = {name: sum(row[name] for row in own) / len(own) for name in _SHOWN}
        print(f"{mode:13} {memory:10} " + "  ".join(f"{name} {value:.3f}" for name, value in means.items()))


if __name__ == "__main__":
    main()
