"""The evolution on the included model, as published and as the demo runs it, with several seeds.

    python -m tests.bench.bench_evolution [seeds] [iterations]

Both settings have the demo's minibatches and test questions. As published, the composite of a minibatch decides on the
best deltas, and cluster 1 is digits and arithmetic symbols; in the demo a fixed validation set decides, and cluster 1
has the full stop and comma, too. Each seed draws its own questions, clusters and minibatches. What is done is kept
below outputs/bench_evolution, so the command goes on where it was stopped. Writes results/evolution.csv (a line a seed,
setting and method) and results/evolution_differences.csv (the settings side by side over all test questions, paired).
"""

from __future__ import annotations

import csv
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from engine.config.config import Config
from engine.config.file import load_config
from engine.events import MethodCompared, without_envelope
from engine.evolution import layout
from engine.evolution.clusters.clusters_stage import BuildClusters
from engine.evolution.evolve_stage import Evolve
from engine.evolution.scoring.comparison import composite_difference
from engine.evolution.scoring.score import Outcome, score
from engine.lm.loading.load import load_model
from engine.statistics import Interval, paired_bootstrap
from tests.kill_and_resume import DEMO
from tests.run_stage import run_stage

RESULTS = Path(__file__).resolve().parent / "results"
WORK = Path("outputs") / "bench_evolution"
SETTINGS: Mapping[str, Sequence[str]] = {
    "as published": ("clusters.numbers=arithmetic", "evolution.best_by=minibatch", "evolution.length_caps=0"),
    "as in the demo": (),
}
"""What each changes of the demo; neither asks for short answers, which would take a third of the time."""
BEST = "best"


class Part(msgspec.Struct):
    """One seed in one setting: the rows of its comparison, and its answers to the test under the best deltas."""

    seed: int
    setting: str
    iterations: int
    best_iteration: int
    cpu_seconds: float
    rows: list[dict[str, Any]]
    answers: list[tuple[str, int, bool | None]]


def configured(seed: int, setting: str, iterations: int) -> Config:
    """The demo with a seed, in a setting."""
    size = [f"run.seed={seed}", f"evolution.iterations={iterations}", "evolution.brief_prompts=[]"]
    changes = [*size, *SETTINGS[setting]]
    return load_config(DEMO, changes)


def measured(seed: int, setting: str, iterations: int) -> Part:
    """One seed in one setting, measured or read."""
    folder = WORK / f"{setting.replace(' ', '_')}-{seed}-{iterations}"
    kept = folder / "part.json"
    if kept.is_file():
        return msgspec.json.decode(kept.read_bytes(), type=Part)
    config = configured(seed, setting, iterations)
    model, began = load_model(config.evolution_model), time.process_time()
    clusters = WORK / f"clusters-{seed}-{config.clusters.numbers}"
    if not layout.descriptions(clusters).is_file():
        run_stage(BuildClusters(), config, clusters, model)
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(clusters, folder)
    events = run_stage(Evolve(), config, folder, model)
    rows = [without_envelope(event) for event in events if isinstance(event, MethodCompared)]
    with layout.test_answers(folder).open(newline="") as file:
        answers = [
            (line["example"], int(line["tokens"]), {"True": True, "False": False, "": None}[line["correct"]])
            for line in csv.DictReader(file)
            if line["method"] == BEST
        ]
    history = layout.history(folder).read_bytes()
    best = [item["iteration"] for item in msgspec.json.decode(history)["iterations"] if item["best"]][-1]
    seconds = round(time.process_time() - began, 1)
    part = Part(seed, setting, iterations, best, seconds, rows, answers)
    kept.write_bytes(msgspec.json.encode(part))
    return part


def difference_rows(parts: Sequence[Part], scale: float) -> list[dict[str, Any]]:
    """The second setting minus the first, over the test questions of all seeds, question by question."""
    first, second = ([part for part in parts if part.setting == name] for name in SETTINGS)
    pairs = [
        (a, b)
        for one, other in zip(first, second, strict=True)
        for a, b in zip(one.answers, other.answers, strict=True)
    ]
    assert all(a[0] == b[0] for a, b in pairs), "both settings answer the same questions"
    published, ours = (
        [Outcome(answer[1], answer[2]) for answer in side] for side in zip(*pairs, strict=True)
    )
    before, after = score(published, scale), score(ours, scale)
    right = [(float(bool(a.correct)), float(bool(b.correct))) for a, b in zip(published, ours, strict=True)]
    return [
        _difference("composite", len(pairs), before.composite, after.composite,
                    composite_difference(ours, published, scale, seed=0)),
        _difference("tokens", len(pairs), before.mean_tokens, after.mean_tokens,
                    paired_bootstrap([o.tokens for o in ours], [o.tokens for o in published], seed=0)),
        _difference("correct", len(pairs), before.correctness, after.correctness,
                    paired_bootstrap([b for _, b in right], [a for a, _ in right], seed=0)),
    ]  # fmt: skip


def _difference(figure: str, n: int, published: float, demo: float, interval: Interval) -> dict[str, Any]:
    return {
        "figure": figure, "n": n, "as_published": published, "as_in_the_demo": demo,
        "difference": interval.difference, "low": interval.low, "high": interval.high,
    }  # fmt: skip


def main() -> None:
    """All seeds in all settings, one after another."""
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    iterations = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    parts = []
    for seed in range(seeds):
        for setting in SETTINGS:
            part = measured(seed, setting, iterations)
            parts.append(part)
            best = next(row for row in part.rows if row["method"] == BEST)
            print(
                f"seed {seed}, {setting}: best {part.best_iteration}, correct {best['correctness']:.3f}, tokens "
                f"{best['mean_tokens']:.1f}, composite {best['composite']:.4f}, {part.cpu_seconds:.0f} CPU seconds",
                flush=True,
            )
    rows = [
        {"seed": part.seed, "setting": part.setting, "best_iteration": part.best_iteration, **row}
        for part in parts
        for row in part.rows
    ]
    _write(RESULTS / "evolution.csv", rows)
    differences = difference_rows(parts, configured(0, "as published", iterations).evolution.SHORTNESS_SCALE)
    _write(RESULTS / "evolution_differences.csv", differences)
    for row in differences:
        print(row, flush=True)


def _write(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
