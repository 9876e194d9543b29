"""ESM as published beside ESM as the demo sets it, over the same memories and problems.

    python -m tests.bench.bench_esm_published [memories] [--work FOLDER]

- `published`: the demo's task, sizes, layer and scale, all pairs kept (`offline_mine.verify` false, as by default)
- `ours`: the same with `offline_mine.verify`
- `defaults`: the published method with the default of every other setting, too: the top third of the layers (here the
  last one), k_scale 4, a library of 512, 8 segments, 256 tokens

Each run.seed mines its own problems and answers its own 200 test problems in all three. With --work a run that was cut
off goes on where it was. Writes results/esm_published.csv (one row a setting, seed and method) and
results/esm_published_summary.csv.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from tests.bench.bench_esm_memories import HERE, Correct, evaluated, interval, write

METHODS = ("greedy", "esm", "no_memory", "no_probing")
_COMMON = ("eval.methods=[greedy, esm]", "eval.ablations=[no_memory, no_probing]")
SETTINGS = {
    "published": ("offline_mine.verify=false",),
    "ours": ("offline_mine.verify=true",),
    "defaults": (
        "offline_mine.verify=false", "control_points.M=8", "decode.max_new_tokens=256",
        "offline_mine.max_new_tokens=256", "offline_mine.candidate_layers=[]", "offline_select.B=512",
        "online.k_scale=4.0",
    ),
}  # fmt: skip


def summary(
    setting: str, method: str, lines: list[list[dict[str, Any]]], found: dict[Any, Correct]
) -> dict[str, Any]:
    """Accuracy over memories, with what it gains on greedy and on the published setting, over the same problems."""
    own = found[setting, method]
    row: dict[str, Any] = {"setting": setting, "method": method, "memories": len(own), "n": own.size}
    row |= _with_interval("accuracy", own) | {"worst": float(own.mean(axis=1).min())}
    row |= _with_interval("on_greedy", own - found[setting, "greedy"])
    row |= _with_interval("on_published", own - found["published", method])
    row["mean_total_tokens"] = round(
        float(np.mean([line["budget_used"] for memory in lines for line in memory])), 1
    )
    steps = [step for memory in lines for line in memory for step in line["steps"]]
    row["probed"] = _share(step["probe_tokens"] > 0 for step in steps)
    row["steered"] = _share(step["chosen"] is not None for step in steps)
    return row


def _share(outcomes: Iterable[bool]) -> float:
    return round(float(np.mean([*outcomes] or [0])), 4)


def _with_interval(name: str, values: Correct) -> dict[str, float]:
    low, high = interval(values)
    return {
        name: round(float(values.mean()), 4),
        f"{name}_low": round(low, 4),
        f"{name}_high": round(high, 4),
    }


def main() -> None:
    """Evaluate every setting and seed, write, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("memories", type=int, nargs="?", default=10)
    parser.add_argument("--work", type=Path, help="keep the runs here")
    parser.add_argument("--out", type=Path, default=HERE / "results")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        work = options.work or Path(scratch)
        memories = {
            setting: [
                evaluated(seed, work / setting / f"seed{seed}", (*_COMMON, *overrides))
                for seed in range(options.memories)
            ]
            for setting, overrides in SETTINGS.items()
        }
    lines = {(s, m): [memory[m] for memory in own] for s, own in memories.items() for m in METHODS}
    found: dict[Any, Correct] = {
        key: np.array([[line["correct"] for line in memory] for memory in own], dtype=np.float64)
        for key, own in lines.items()
    }
    options.out.mkdir(parents=True, exist_ok=True)
    write(
        options.out / "esm_published.csv",
        [
            {"setting": s, "seed": seed, "method": m, "n": own.shape[1], "accuracy": float(own[seed].mean())}
            for (s, m), own in found.items()
            for seed in range(len(own))
        ],
    )
    rows = [summary(s, m, own, found) for (s, m), own in lines.items()]
    write(options.out / "esm_published_summary.csv", rows)
    for row in rows:
        print(row)


if __name__ == "__main__":
    main()
