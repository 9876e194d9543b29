"""What the retriever's projector and the best weights by validation are worth: same data, same draws, paired.

    python -m tests.bench.bench_gflownet_networks [demo|FOLDER] [seed ...]

`demo` are the settings of configs/demo.yaml (each seed with a graph, questions, retriever and training of its own).
FOLDER holds PathQuestion's PQ-2H.txt and 2H-kb.txt (configs/real/gflownet_pathquestion_2h.yaml; a seed draws the
splits, too). Three samplers are trained on the same agent graphs: with projections of its own (`own`), with the
retriever's projector frozen (`shared`), and with it trained further (`trained on`). Each is evaluated every 50 steps on
validation, and at the end with its last weights and with those that were best on validation by rollout_reward. Figures
are those of 20 independent samples a question. PathQuestion's test questions are left alone.

Trained samplers' figures are kept in outputs/bench_networks, so that the bench goes on where it was stopped. Writes
results/gflownet_networks.csv and results/gflownet_networks_differences.csv; rows of data that are not run stay.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from engine.config.config import Config
from engine.config.file import load_config
from engine.files import write_atomic
from engine.gflownet import layout
from engine.gflownet.evaluation.evaluator import Evaluator
from engine.gflownet.evaluation.questions import load_questions
from engine.gflownet.graphs.tables import EmbeddingTables
from engine.gflownet.sampler.module import prior_alpha
from engine.gflownet.training import gflownet_stage
from engine.gflownet.training.trained_sampler import trained_sampler
from engine.run.registry import resolve_stage
from engine.run.stage import StageResult
from engine.statistics import paired_bootstrap
from tests.bench.bench_gflownet_pathquestion import write_rows
from tests.conftest import ROOT
from tests.run_stage import run_stage

KEPT = ROOT / "outputs" / "bench_networks"
SAMPLERS = {
    "own": {"use_retriever_projector": False},
    "shared": {"use_retriever_projector": True, "freeze_projector": True},
    "trained on": {"use_retriever_projector": True, "freeze_projector": False},
}
WEIGHTS = ("last", "best")
FIGURES = (
    "rollout_reward",
    "success@1",
    "success@20",
    "answer_recall_union@20",
    "path_hit_f1",
    "total_variation",
)


def configuration(data: str, seed: int) -> Config:
    """The ready configuration of the data, with what the seed draws."""
    if data == "demo":
        return load_config(ROOT / "configs" / "demo.yaml", [f"run.seed={seed}"])
    folder = Path(data).resolve()
    return load_config(
        ROOT / "configs" / "real" / "gflownet_pathquestion_2h.yaml",
        [f"graphs.path={folder / 'PQ-2H.txt'}", f"graphs.knowledge_base={folder / '2H-kb.txt'}",
         f"graphs.split_seed={seed}", f"run.seed={seed}"],
    )  # fmt: skip


def one(data: str, seed: int, name: str) -> dict[str, Any]:
    """Figures of a sampler by weights, split and question; trained if it is not yet."""
    folder = KEPT / f"{Path(data).name}_{seed}"
    result = folder / f"{name}.json"
    if result.is_file():
        return json.loads(result.read_text())
    config = configuration(data, seed)
    changes = {"embedder": SAMPLERS[name], "eval_every": 50}
    config = Config.model_validate(config.model_dump() | {"gflownet": config.gflownet.model_dump() | changes})
    prepared = layout.agent_graphs(folder, "test")
    for stage in () if prepared.is_file() else ("graphs", "retriever", "agent-graphs"):
        run_stage(resolve_stage(stage), config, folder)
    layout.checkpoint(folder).unlink(missing_ok=True)
    began = time.process_time()
    run_stage(resolve_stage("gflownet"), config, folder)
    row = {"seconds": round(time.process_time() - began), **measured(folder, config, data == "demo")}
    write_atomic(result, json.dumps(row))
    return row


def measured(folder: Path, config: Config, with_test: bool) -> dict[str, Any]:
    """Figures by question of the last and of the best weights."""
    tables = EmbeddingTables.load(folder)
    row: dict[str, Any] = {}
    for weights in WEIGHTS:
        section = config.gflownet.model_dump() | {"early_stopping": {"restore_best": weights == "best"}}
        chosen = Config.model_validate(config.model_dump() | {"gflownet": section})
        module, step = trained_sampler(folder, chosen)
        row[f"{weights} step"] = step
        for split in ("validation", "test") if with_test else ("validation",):
            questions = load_questions(folder, split, tables, module)
            evaluator = Evaluator(module, questions, config.run.seed, lambda: None)
            found = evaluator.sampler(prior_alpha(config.gflownet, step))
            figures = found.figures | {"total_variation": found.distances}
            row[f"{weights} {split}"] = {figure: figures[figure] for figure in FIGURES}
    return row


def table(
    data: str, runs: dict[str, list[dict[str, Any]]]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Means over the questions of all seeds; paired differences with bootstrap 95% intervals."""
    rows, compared = [], []
    splits = [split for split in ("validation", "test") if f"last {split}" in next(iter(runs.values()))[0]]
    for split in splits:
        pooled = {
            (name, weights): {
                f: np.concatenate([run[f"{weights} {split}"][f] for run in own]) for f in FIGURES
            }
            for name, own in runs.items()
            for weights in WEIGHTS
        }
        for (name, weights), figures in pooled.items():
            steps = " ".join(str(run[f"{weights} step"]) for run in runs[name])
            row = {"data": data, "split": split, "projector": name, "weights": weights, "steps": steps,
                   "n": len(figures["success@1"])}  # fmt: skip
            rows.append(
                row | {figure: round(float(np.nanmean(values)), 4) for figure, values in figures.items()}
            )
        pairs = [((n, "best"), ("own", "best")) for n in SAMPLERS if n != "own"]
        pairs += [((n, "best"), (n, "last")) for n in SAMPLERS]
        for one, other in pairs:
            for figure in FIGURES:
                a, b = pooled[one][figure], pooled[other][figure]
                known = ~(np.isnan(a) | np.isnan(b))
                difference = paired_bootstrap(a[known].tolist(), b[known].tolist(), seed=0)
                compared.append({
                    "data": data, "split": split, "figure": figure, "sampler": ", ".join(one),
                    "against": ", ".join(other), "n": int(known.sum()), "difference": round(difference.difference, 4),
                    "low": round(difference.low, 4), "high": round(difference.high, 4),
                })  # fmt: skip
    return rows, compared


def main(data: str, seeds: Sequence[int]) -> None:
    # The figures of the stage itself are not needed, and take longer than the training.
    gflownet_stage._SamplerJob._measure = lambda self: StageResult({}, [])  # type: ignore[method-assign]
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in SAMPLERS}
    for seed in seeds:
        for name in SAMPLERS:
            runs[name].append(one(data, seed, name))
            print(data, seed, name, runs[name][-1]["seconds"], "s", flush=True)
    label = "demo" if data == "demo" else "PQ-2H"
    rows, compared = table(label, runs)
    write_rows("gflownet_networks", [label], rows)
    write_rows("gflownet_networks_differences", [label], compared)
    for row in [*rows, *compared]:
        print(row)


if __name__ == "__main__":
    words = sys.argv[1:] or ["demo"]
    main(words[0], [int(word) for word in words[1:]] or [0, 1, 2])
