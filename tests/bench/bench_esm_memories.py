"""ESM and its controls over many memories: mean, spread, and an interval over memories and problems.

    python -m tests.bench.bench_esm_memories [seeds] [--work FOLDER] [--set field=value ...]

Each run.seed mines its own 300 problems and answers its own 200 test problems, else with configs/demo.yaml as it is,
and all controls beside it. The demo's settings were chosen on the dev split of seeds 20 to 24, which are not reported.
With --work a run that was cut off goes on where it was. Writes results/esm_memories.csv (one row a seed and method)
and results/esm_memories_summary.csv.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.config.esm_methods import evaluated_methods
from engine.config.file import load_config
from engine.esm.evaluation.eval_stage import Evaluate
from engine.esm.library.memory_stage import BuildMemory
from engine.esm.library.select_stage import Select
from engine.esm.mining.mine_stage import Mine
from engine.files import read_jsonl
from engine.lm.loading.load import load_model
from tests.run_stage import run_stage

HERE = Path(__file__).resolve().parent
DEMO = HERE.parent.parent / "configs" / "demo.yaml"
RESAMPLES = 10_000
ALL = (
    "task.train_size=300", "online.record_null=false", "eval.methods=[greedy, majority_vote, esm]",
    "eval.ablations=[no_memory, no_probing, random_vector, mean_vector, mean_vector_gated, no_right_entries]",
)  # fmt: skip

Correct = NDArray[np.float64]
"""(memories, problems): 1 where the answer is right."""


def evaluated(seed: int, folder: Path, overrides: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """Lines of per_example.jsonl by method. Stages that are done in `folder` are not done again."""
    config = load_config(DEMO, [f"run.seed={seed}", *ALL, *overrides])
    finished = folder / "finished"
    if not finished.exists():
        model = load_model(config.model)
        for stage in (Mine(), Select(), BuildMemory(), Evaluate()):
            run_stage(stage, config, folder, model)
        finished.touch()
    return {path.parent.name: read_jsonl(path) for path in folder.glob("esm/eval/*/per_example.jsonl")}


def interval(delta: Correct) -> tuple[float, float]:
    """95% percentile interval of the mean: memories are resampled, then the problems of each (two-stage bootstrap,
    Davison & Hinkley 1997, ch. 3.8)."""
    rng = np.random.default_rng(0)
    memories, problems = delta.shape
    means = np.empty(RESAMPLES)
    for i in range(RESAMPLES):
        drawn = rng.integers(memories, size=memories)
        means[i] = delta[drawn[:, None], rng.integers(problems, size=(memories, problems))].mean()
    return float(np.quantile(means, 0.025)), float(np.quantile(means, 0.975))


def summary(correct: Mapping[str, Correct], tokens: Mapping[str, float]) -> list[dict[str, Any]]:
    """One row a method: accuracy over memories, and what esm gains on it."""
    rows = []
    for method, own in correct.items():
        accuracies = own.mean(axis=1)
        low, high = interval(own)
        row: dict[str, Any] = {
            "method": method,
            "memories": own.shape[0],
            "n": own.size,
            "mean": round(float(own.mean()), 4),
            "low": round(low, 4),
            "high": round(high, 4),
            "sd": round(float(accuracies.std(ddof=1)), 4) if len(accuracies) > 1 else None,
            "worst": float(accuracies.min()),
            "best": float(accuracies.max()),
            "mean_total_tokens": round(tokens[method], 1),
        }
        gain = correct["esm"] - own
        low, high = interval(gain)
        row |= {
            "esm_gain": round(float(gain.mean()), 4),
            "gain_low": round(low, 4),
            "gain_high": round(high, 4),
        }
        row["worst_gain"] = round(float(gain.mean(axis=1).min()), 4)
        rows.append(row)
    return rows


def write(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main() -> None:
    """Evaluate every seed, write, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seeds", type=int, nargs="?", default=10)
    parser.add_argument("--first", type=int, default=0, help="the first run.seed")
    parser.add_argument("--work", type=Path, help="keep the runs here")
    parser.add_argument("--set", action="append", default=[], help="field=value of the configuration")
    parser.add_argument("--out", type=Path, default=HERE / "results")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        work = options.work or Path(scratch)
        lines = {}
        for seed in range(options.first, options.first + options.seeds):
            lines[seed] = evaluated(seed, work / f"seed{seed}", options.set)
            accuracy = {name: np.mean([line["correct"] for line in own]) for name, own in lines[seed].items()}
            print(seed, {name: f"{value:.3f}" for name, value in sorted(accuracy.items())}, flush=True)
    names = [method.name for method in evaluated_methods(load_config(DEMO, [*ALL, *options.set]))]
    correct = {
        name: np.array([[line["correct"] for line in own[name]] for own in lines.values()], dtype=np.float64)
        for name in names
    }
    tokens = {
        name: float(np.mean([line["budget_used"] for own in lines.values() for line in own[name]]))
        for name in correct
    }
    options.out.mkdir(parents=True, exist_ok=True)
    rows = summary(correct, tokens)
    write(
        options.out / "esm_memories.csv",
        [
            {"seed": seed, "method": name, "n": own.shape[1], "accuracy": float(own[i].mean())}
            for name, own in correct.items()
            for i, seed in enumerate(lines)
        ],
    )
    write(options.out / "esm_memories_summary.csv", rows)
    for row in rows:
        print(row)


if __name__ == "__main__":
    main()
