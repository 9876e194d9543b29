"""What the sampler is worth on held-out questions, beside beam search and the retriever's prior: three seeds.

    python -m tests.bench.bench_gflownet [seed ...]

Every seed has a graph, questions, retriever and sampler of its own. All settings are chosen on its validation
questions. Figures are means over the test questions of all seeds that have an agent graph, those called `_all` over all
test questions; intervals are bootstrapped over them. Writes results/gflownet.csv (methods), gflownet_differences.csv
(sampler minus baseline) and gflownet_answers.csv.

The run's own beam has the bonus for each edge that is best on validation by answer recall. Besides it there are one
whose bonus is best for success@1, one for the distinct paths that meet an answer, and one without a bonus.
"""

from __future__ import annotations

import csv
import sys
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from engine.config.config import Config
from engine.events import EvidenceAnswered
from engine.files import csv_text, read_jsonl, write_atomic, write_jsonl
from engine.gflownet import layout
from engine.gflownet.evaluation import evaluator as evaluation
from engine.gflownet.evaluation.beam import beam_search
from engine.gflownet.evaluation.evaluator import EDGE_BONUSES, Evaluation, Evaluator
from engine.gflownet.evaluation.paths import GraphNames, ranked_paths
from engine.gflownet.evaluation.questions import load_questions
from engine.gflownet.graphs.dropped import missed_questions
from engine.gflownet.graphs.tables import EmbeddingTables, Texts
from engine.gflownet.sampler.actor import Rollout
from engine.gflownet.sampler.module import GFlowNetModule
from engine.run.registry import resolve_stage
from engine.statistics import mcnemar, paired_bootstrap
from tests.run_stage import run_stage

RESULTS = Path(__file__).parent / "results"
STAGES = ("graphs", "retriever", "agent-graphs", "gflownet", "answer")
FIGURES = (
    "success@1", "success@10", "success@20", "answer_recall_union@1", "answer_recall_union@20", "unique_paths@20",
    "unique_success_paths@20", "path_hit_f1", "path_f1_union@20", "success_all@1", "success_all@20",
    "gold_recall_all@20", "total_variation",
)  # fmt: skip
TUNED = {
    "beam for success@1": "success@1",
    "beam for hits@20": "unique_success_paths@20",
}
SETTINGS = {
    "graphs": {"nodes": 3000, "edges": 1000, "train_size": 800, "validation_size": 200, "test_size": 200},
    "retriever": {"epochs": 6},
    "agent_graphs": {"anchor_top_k": 200, "hops": 3, "through_anchors": True},
    "gflownet": {
        "steps": 1500, "eval_every": 1000, "actor": {"retriever_prior_anneal_steps": 800},
        "estimator": {"log_pb_mode": "exact"}, "num_train_rollouts": 4, "gt_replay": "reward", "gt_loss_weight": 16.0,
        "distinct_paths": True, "embedder": {"use_retriever_projector": False},
        "early_stopping": {"restore_best": False}, "token_features": ["scores", "structure"],
    },
    "answer": {"token_budget": 100, "questions": 200},
}  # fmt: skip


def one_seed(seed: int, folder: Path) -> tuple[dict[str, Evaluation], dict[str, list[bool]]]:
    """Run the five stages; every method's figures by question, and by kind of evidence whether a reader was right."""
    config = Config.model_validate({"run": {"seed": seed}, **SETTINGS})
    found: dict[str, Evaluation] = {}
    event = Evaluation.event

    def remembering(self: Evaluation, step: int, split: str, run_seed: int, resamples: int = 2000):  # type: ignore[no-untyped-def]
        if split == "test":
            found[self.method] = self
            if self.distances:
                self.figures["total_variation"] = self.distances
        return event(self, step, split, run_seed, resamples)

    evaluation.Evaluation.event = remembering  # type: ignore[method-assign]
    try:
        for name in STAGES[:-1]:
            run_stage(resolve_stage(name), config, folder)
    finally:
        evaluation.Evaluation.event = event  # type: ignore[method-assign]
    hits = answers(config, folder)
    found |= other_beams(config, folder)
    layout.answers(folder).unlink()
    beam_as_evidence(config, folder)
    return found, {**hits, "beam": answers(config, folder)["gflownet"]}


def answers(config: Config, folder: Path) -> dict[str, list[bool]]:
    """Whether each question was answered rightly, by kind of evidence."""
    events = run_stage(resolve_stage("answer"), config, folder)
    hits: dict[str, dict[str, bool]] = {}
    for event in events:
        if isinstance(event, EvidenceAnswered):
            hits.setdefault(event.method, {})[event.sample_id] = event.hit
    return {method: [own[name] for name in sorted(own)] for method, own in hits.items()}


def evaluators(config: Config, folder: Path) -> tuple[Evaluator, Evaluator, GFlowNetModule]:
    """On validation and on test, for what needs no weights."""
    tables = EmbeddingTables.load(folder)
    module = GFlowNetModule(tables.width, config.gflownet)
    own, test = (
        Evaluator(module, load_questions(folder, split, tables, module), config.run.seed, lambda: None)
        for split in ("validation", "test")
    )
    return own, test, module


def other_beams(config: Config, folder: Path) -> dict[str, Evaluation]:
    """The best beam for each compared figure, and the one without a bonus."""
    validation, test, _ = evaluators(config, folder)
    tried = {bonus: validation.beam(bonus).means() for bonus in EDGE_BONUSES}
    found = {"beam, no bonus": test.beam(0.0)}
    for method, figure in TUNED.items():
        found[method] = test.beam(max(tried, key=lambda bonus: tried[bonus][figure]))
    for beam in found.values():
        beam.missed = missed_questions(folder, "test")
    return found


def beam_as_evidence(config: Config, folder: Path) -> None:
    """Put the run's beam in the place of its sampled paths."""
    with layout.metrics(folder).open(newline="") as file:
        bonus = next(float(row["edge_bonus"]) for row in csv.DictReader(file) if row["method"] == "beam")
    _, test, module = evaluators(config, folder)
    texts = Texts.load(folder)
    lines = read_jsonl(layout.sampled_paths(folder))
    for number, line in enumerate(lines):
        batch, data = test.questions.whole(number)
        assert data.sample_id == line["sample_id"]
        walks, worth = beam_search(module.env, batch, config.gflownet.num_eval_rollouts, bonus)
        rollout = Rollout(walks, worth, worth.isinf()).accepted
        names = GraphNames.of(texts, data)
        reward = module.reward(batch, rollout.walks, rollout.log_pf)
        line["paths"] = [msgspec.to_builtins(path) for path in ranked_paths(batch, rollout, reward, names)]
    write_jsonl(layout.sampled_paths(folder), lines)


def main(seeds: list[int]) -> None:
    pooled: dict[str, dict[str, list[float]]] = {}
    by_seed: list[dict[str, Any]] = []
    hits: dict[str, list[bool]] = {"triples": [], "beam": [], "gflownet": []}
    missed = 0
    for seed in seeds:
        with tempfile.TemporaryDirectory() as folder:
            found, own_hits = one_seed(seed, Path(folder))
        for method, figures in found.items():
            for name, values in figures.with_all_questions.items():
                pooled.setdefault(method, {}).setdefault(name, []).extend(values)
            row = {
                "seed": seed,
                "method": method,
                "n": figures.n,
                "missed": figures.missed,
                "setting": next(iter(figures.settings.values()), ""),
            }
            by_seed.append(row | means(figures.with_all_questions))
            print(by_seed[-1], flush=True)
        for method, values in own_hits.items():
            hits[method] += values
        missed += found["gflownet"].missed
    for method, figures in pooled.items():
        n = len(figures["success@1"])
        row = {"seed": "all", "method": method, "n": n, "missed": missed, "setting": ""}
        by_seed.append(row | means(figures))
    write_atomic(RESULTS / "gflownet.csv", csv_text(by_seed))
    write_atomic(RESULTS / "gflownet_differences.csv", csv_text(differences(pooled)))
    write_atomic(RESULTS / "gflownet_answers.csv", csv_text(answered(hits, missed)))
    for name in ("gflownet", "gflownet_differences", "gflownet_answers"):
        print((RESULTS / f"{name}.csv").read_text())


def means(figures: dict[str, list[float]]) -> dict[str, float | str]:
    """Of the questions that have the figure."""
    return {name: round(float(np.nanmean(figures[name])), 4) if name in figures else "" for name in FIGURES}


def differences(pooled: dict[str, dict[str, list[float]]]) -> list[dict[str, Any]]:
    """Sampler minus each other method; greedy minus beam at one path."""
    rows: list[dict[str, Any]] = []
    own = ("distinct", "gflownet")
    pairs = [(one, other) for one in own for other in pooled if other not in (*own, "greedy")]
    beams = [method for method in pooled if method.startswith("beam")]
    for one, other in [("distinct", "gflownet"), *pairs, *(("greedy", beam) for beam in beams)]:
        for name in FIGURES[:-1]:
            if name in pooled[one] and name in pooled[other] and (one != "greedy" or name.endswith("@1")):
                interval = paired_bootstrap(pooled[one][name], pooled[other][name], seed=0)
                rows.append(
                    {"figure": name, "method": one, "against": other, "difference": round(interval.difference, 4),
                     "low": round(interval.low, 4), "high": round(interval.high, 4)}
                )  # fmt: skip
    return rows


def answered(hits: dict[str, list[bool]], missed: int) -> list[dict[str, Any]]:
    """Hit rates of the kinds of evidence at one token budget, of the questions with an agent graph and of all; sampled
    paths minus each other."""
    rows: list[dict[str, Any]] = []
    for name, values in hits.items():
        n_all = len(values) + missed
        row: dict[str, Any] = {"evidence": name, "n": len(values), "hit": round(float(np.mean(values)), 4),
                               "n_all": n_all, "hit_all": round(sum(values) / n_all, 4)}  # fmt: skip
        if name == "triples":  # which need no path, and are not asked where there is none
            row |= {"n_all": "", "hit_all": ""}
        difference: dict[str, Any] = dict.fromkeys(("gflownet_minus", "low", "high", "mcnemar_p"), "")
        if name != "gflownet":
            interval = paired_bootstrap(hits["gflownet"], values, seed=0)
            difference = {
                "gflownet_minus": round(interval.difference, 4), "low": round(interval.low, 4),
                "high": round(interval.high, 4), "mcnemar_p": f"{mcnemar(hits['gflownet'], values):.1e}",
            }  # fmt: skip
        rows.append(row | difference)
    return rows


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]] or [0, 1, 2])
