"""What the sampler is worth on held-out questions, beside beam search and the retriever's prior: three seeds.

    python -m tests.bench.bench_gflownet [seed ...]

Every seed has a graph, questions, retriever and sampler of its own. Figures are means over the questions of all seeds
that have an agent graph, those called `_all` over all questions; intervals are bootstrapped over them. Writes
results/gflownet.csv (methods), gflownet_differences.csv (sampler minus baseline) and gflownet_answers.csv.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from engine.config.config import Config
from engine.events import EvidenceAnswered
from engine.files import csv_text, write_atomic
from engine.gflownet.evaluation import evaluator as evaluation
from engine.gflownet.evaluation.evaluator import Evaluation
from engine.run.registry import resolve_stage
from engine.statistics import mcnemar, paired_bootstrap
from tests.run_stage import run_stage

RESULTS = Path(__file__).parent / "results"
STAGES = ("graphs", "retriever", "agent-graphs", "gflownet", "answer")
FIGURES = (
    "success@1", "success@10", "success@20", "answer_recall_union@1", "answer_recall_union@20", "unique_paths@20",
    "unique_success_paths@20", "path_hit_f1", "path_f1_union@20", "success_all@1", "success_all@20",
    "gold_recall_all@20",
)  # fmt: skip
SETTINGS = {
    "graphs": {"nodes": 3000, "edges": 1000, "train_size": 800, "test_size": 200},
    "retriever": {"epochs": 6},
    "agent_graphs": {"anchor_top_k": 200, "hops": 3},
    "gflownet": {"steps": 1500, "actor": {"retriever_prior_anneal_steps": 800}},
    "answer": {"token_budget": 100, "questions": 200},
}


def one_seed(seed: int, folder: Path) -> tuple[dict[str, Evaluation], list[EvidenceAnswered]]:
    """Run the five stages; every method's figures by question, and the answers."""
    config = Config.model_validate({"run": {"seed": seed}, **SETTINGS})
    found: dict[str, Evaluation] = {}
    event = Evaluation.event

    def remembering(self: Evaluation, step: int, split: str, run_seed: int, resamples: int = 2000):  # type: ignore[no-untyped-def]
        if split == "test":
            found[self.method] = self
        return event(self, step, split, run_seed, resamples)

    evaluation.Evaluation.event = remembering  # type: ignore[method-assign]
    try:
        answers = []
        for name in STAGES:
            events = run_stage(resolve_stage(name), config, folder)
            answers += [event for event in events if isinstance(event, EvidenceAnswered)]
    finally:
        evaluation.Evaluation.event = event  # type: ignore[method-assign]
    return found, answers


def main(seeds: list[int]) -> None:
    pooled: dict[str, dict[str, list[float]]] = {}
    by_seed: list[dict[str, Any]] = []
    hits: dict[str, list[bool]] = {"triples": [], "gflownet": []}
    missed = 0
    for seed in seeds:
        with tempfile.TemporaryDirectory() as folder:
            found, answers = one_seed(seed, Path(folder))
        for method, figures in found.items():
            for name, values in figures.both_ways.items():
                pooled.setdefault(method, {}).setdefault(name, []).extend(values)
            means = figures.means()
            by_seed.append(
                {"seed": seed, "method": method, "n": figures.n, "missed": figures.missed}
                | {n: means.get(n, "") for n in FIGURES}
            )
            print(by_seed[-1], flush=True)
        for answer in answers:
            hits[answer.method].append(answer.hit)
        missed += found["gflownet"].missed
    for method, figures in pooled.items():
        means = {name: float(np.mean(figures[name])) if name in figures else "" for name in FIGURES}
        n = len(figures["success@1"])
        missed = len(figures["success_all@1"]) - n
        by_seed.append({"seed": "all", "method": method, "n": n, "missed": missed} | means)
    write_atomic(RESULTS / "gflownet.csv", csv_text(by_seed))
    write_atomic(RESULTS / "gflownet_differences.csv", csv_text(differences(pooled)))
    write_atomic(RESULTS / "gflownet_answers.csv", csv_text(answered(hits, missed)))
    for name in ("gflownet", "gflownet_differences", "gflownet_answers"):
        print((RESULTS / f"{name}.csv").read_text())


def differences(pooled: dict[str, dict[str, list[float]]]) -> list[dict[str, Any]]:
    """Sampler minus each other method, and greedy minus beam at one path."""
    rows: list[dict[str, Any]] = []
    pairs = [("gflownet", other) for other in pooled if other not in ("gflownet", "greedy")]
    for one, other in [*pairs, ("greedy", "beam_mean"), ("greedy", "beam_sum")]:
        for name in FIGURES:
            if name in pooled[one] and name in pooled[other] and (one != "greedy" or name.endswith("@1")):
                interval = paired_bootstrap(pooled[one][name], pooled[other][name], seed=0)
                rows.append(
                    {"figure": name, "method": one, "against": other, "difference": round(interval.difference, 4),
                     "low": round(interval.low, 4), "high": round(interval.high, 4)}
                )  # fmt: skip
    return rows


def answered(hits: dict[str, list[bool]], missed: int) -> list[dict[str, Any]]:
    """Hit rates of both kinds of evidence at one token budget: of the questions with an agent graph, and of all."""
    interval = paired_bootstrap(hits["gflownet"], hits["triples"], seed=0)
    p = mcnemar(hits["gflownet"], hits["triples"])
    rows: list[dict[str, Any]] = [
        {
            "evidence": name,
            "n": len(values),
            "hit": round(float(np.mean(values)), 4),
            "n_all": len(values) + missed,
            "hit_all": round(sum(values) / (len(values) + missed), 4),
        }
        for name, values in hits.items()
    ]
    difference = {
        "difference": round(interval.difference, 4), "low": round(interval.low, 4), "high": round(interval.high, 4),
        "mcnemar_p": f"{p:.1e}",
    }  # fmt: skip
    return [
        row | (difference if row["evidence"] == "gflownet" else dict.fromkeys(difference, "")) for row in rows
    ]


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]] or [0, 1, 2])
