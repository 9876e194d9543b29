"""The published sampler beside this project's settings, and each setting by itself.

    python -m tests.bench.bench_gflownet_published SET [FOLDER] [--test] [--kept] [seed ...] [setting ...]

SET is `generated`, the graphs of configs/demo.yaml with 200 questions each for validation and test, or `2h` or `l2h`,
PathQuestion's sets in FOLDER. Graphs and retriever are made once a seed; then each of SETTINGS selects its agent graphs
and trains a sampler. Every held-out question counts: one without an agent graph counts as missed. So all settings are
compared over the same questions, pair by pair; intervals (95%) are bootstrapped over the questions of all seeds, for
PathQuestion over groups of paraphrases.

Figures are those of validation, where settings are chosen. With --test, LOOKED_AT are also looked at on
test; with --kept, nothing is trained that was not finished before. Distinct paths have temperature 1 here, as the
independent samples have.

Finished trainings are kept in outputs/bench_published, under a name made from the files and the settings that they come
from. Writes results/gflownet_published.csv (means) and gflownet_published_differences.csv; other sets' rows stay.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from engine.config.config import Config
from engine.config.file import load_config
from engine.errors import DataError
from engine.files import write_atomic
from engine.gflownet import layout
from engine.gflownet.evaluation.evaluator import EDGE_BONUSES, Evaluation, Evaluator, best_setting
from engine.gflownet.evaluation.questions import load_questions
from engine.gflownet.graphs.raw import RawSample
from engine.gflownet.graphs.sources import make_source
from engine.gflownet.graphs.store import RetrievalStore
from engine.gflownet.graphs.tables import EmbeddingTables
from engine.gflownet.sampler.module import prior_alpha
from engine.gflownet.training.trained_sampler import trained_sampler
from engine.run.registry import resolve_stage
from tests.bench.bench_gflownet_pathquestion import FILES, group, interval, key, write_rows
from tests.conftest import ROOT
from tests.run_stage import run_stage

KEPT = ROOT / "outputs" / "bench_published"
FIGURES = (
    "success@1",
    "success@20",
    "gold_recall_union@20",
    "unique_success_paths@20",
    "hits@1",
    "path_f1_union@20",
)
METHODS = ("gflownet", "distinct", "greedy", "beam")

PUBLISHED: dict[str, Any] = {
    "agent_graphs.through_anchors": False,
    "agent_graphs.hops": 2,
    "gflownet.estimator.log_pb_mode": "uniform",
    "gflownet.gt_replay": "likelihood",
    "gflownet.gt_loss_weight": 1.0,
    "gflownet.num_train_rollouts": 1,
    "gflownet.embedder.use_retriever_projector": True,
    "gflownet.early_stopping.restore_best": True,
}
ANCHORS = {"agent_graphs.through_anchors": True, "agent_graphs.hops": 3}
LETTER = PUBLISHED | {
    "agent_graphs.anchor_top_k": 50,
    "gflownet.steps": 10_000,
    "gflownet.actor.retriever_prior_anneal_steps": 10_000,
    "gflownet.reward.kind": "answer_only",
    "gflownet.environment.forbid_revisit": True,
    "gflownet.environment.forbid_backtrack": True,
    "gflownet.token_features": [],
    "gflownet.eval_every": 500,
}
"""All that the document says, its sizes too."""
LEARNED = {"gflownet.estimator.log_pb_mode": "learned"}
EXACT = {"gflownet.estimator.log_pb_mode": "exact"}
REPLAY = {"gflownet.gt_replay": "reward", "gflownet.gt_loss_weight": 16.0, "gflownet.num_train_rollouts": 4}
OWN = {"gflownet.embedder.use_retriever_projector": False}
LAST = {"gflownet.early_stopping.restore_best": False}
OURS = PUBLISHED | ANCHORS | EXACT | REPLAY | OWN | LAST
SETTINGS: dict[str, dict[str, Any]] = {
    "to the letter": LETTER,
    "published": PUBLISHED,
    "ours": OURS,
    "published, anchors passed": PUBLISHED | ANCHORS,
    "ours, P_B uniform": OURS | {"gflownet.estimator.log_pb_mode": "uniform"},
    "ours, P_B learned": OURS | LEARNED,
    "ours, likelihood 1 K 1": PUBLISHED | ANCHORS | EXACT | OWN | LAST,
    "ours, first anchor": PUBLISHED | EXACT | REPLAY | OWN | LAST,
    "ours, the retriever's projector": PUBLISHED | ANCHORS | EXACT | REPLAY | LAST,
    "ours, best weights": PUBLISHED | ANCHORS | EXACT | REPLAY | OWN,
    "published, P_B learned": PUBLISHED | LEARNED,
    "published, P_B exact": PUBLISHED | EXACT,
    "published, replay 16 K 4": PUBLISHED | REPLAY,
    "published, own projections": PUBLISHED | OWN,
}
LOOKED_AT = ("to the letter", "published", "ours")
AGAINST = {"to the letter": "ours", "published": "ours"} | {
    name: name.partition(",")[0] for name in SETTINGS if "," in name
}
"""What each setting is compared with."""
Values = dict[tuple[str, str, str, str], dict[str, float]]
"""Split, setting, method, figure; seed and question: the value."""
Found = dict[str, dict[str, dict[str, float]]]
"""Method, figure, question: the value."""


def configuration(data: str, folder: Path | None, seed: int, settings: dict[str, Any]) -> Config:
    own = [f"{name}={value}" for name, value in settings.items()] + [f"run.seed={seed}"]
    if data == "generated":
        return load_config(
            ROOT / "configs" / "demo.yaml",
            ["graphs.validation_size=200", "graphs.test_size=200", "gflownet.eval_every=50", *own],
        )
    assert folder is not None
    questions, base = FILES[data]
    return load_config(
        ROOT / "configs" / "real" / f"gflownet_pathquestion_{data}.yaml",
        [f"graphs.path={folder / questions}", f"graphs.knowledge_base={folder / base}",
         f"graphs.split_seed={seed}", "gflownet.eval_every=50", *own],
    )  # fmt: skip


def made(config: Config, files: Sequence[Path]) -> Path:
    """The folder with the graphs and the retriever's scores."""
    folder = KEPT / key(*files, config.graphs, config.retriever, config.run.seed) / "graphs"
    if not folder.is_dir():
        new = folder.with_name("graphs.new")
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(parents=True)
        for name in ("graphs", "retriever"):
            run_stage(resolve_stage(name), config, new)
        new.rename(folder)
    return folder


def run_of(graphs: Path, config: Config) -> Path:
    """The folder of one setting's training."""
    return graphs.with_name(key(config.agent_graphs, config.gflownet))


def trained(graphs: Path, config: Config, splits: Sequence[str]) -> dict[str, Any]:
    """What the sampler of one setting finds on `splits`, beside the beam over its agent graphs."""
    run_dir = run_of(graphs, config)
    if not layout.checkpoint(run_dir).is_file() or not layout.metrics(run_dir).is_file():
        shutil.rmtree(run_dir, ignore_errors=True)
        shutil.copytree(graphs, run_dir)
        run_stage(resolve_stage("agent-graphs"), config, run_dir)
        try:
            run_stage(resolve_stage("gflownet"), config, run_dir)
        except DataError:  # trained, but no held-out question has an agent graph
            layout.metrics(run_dir).parent.mkdir(exist_ok=True)
            layout.metrics(run_dir).touch()
    result = {}
    for split in splits:
        path = run_dir / f"{split}.json"
        if not path.is_file():
            write_atomic(path, json.dumps(evaluated(run_dir, config, split)))
        result[split] = json.loads(path.read_text())
    return result


def evaluated(run_dir: Path, config: Config, split: str) -> Found:
    """Every method's figures by question."""
    tables = EmbeddingTables.load(run_dir)
    module, step = trained_sampler(run_dir, config)
    alpha = prior_alpha(config.gflownet, step)

    def over(split: str) -> Evaluator:
        questions = load_questions(run_dir, split, tables, module)
        return Evaluator(module, questions, config.run.seed, lambda: None)

    try:
        own = over(split)
    except DataError:  # no question has an agent graph: all are missed
        return {method: {figure: {} for figure in FIGURES} for method in METHODS}
    recall = f"answer_recall_union@{config.gflownet.num_eval_rollouts}"
    found = [own.sampler(alpha), own.distinct(alpha, 1.0), own.greedy(alpha),
             own.beam(best_setting(over("validation").beam, EDGE_BONUSES, recall))]  # fmt: skip
    names = [own.questions.data[number].sample_id for number in range(len(own.questions))]
    return {each.method: by_question(each, names) for each in found}


def by_question(found: Evaluation, names: Sequence[str]) -> dict[str, dict[str, float]]:
    return {
        figure: dict(zip(names, found.figures[figure], strict=True))
        for figure in FIGURES
        if figure in found.figures
    }


def shown(found: Found, names: Sequence[str]) -> dict[str, list[float]]:
    """Every method's means, in the order of FIGURES."""
    return {
        method: [round(float(np.mean([own.get(name, 0.0) for name in names])), 3) for own in figures.values()]
        for method, figures in found.items()
    }


def main(
    data: str, folder: Path | None, seeds: Sequence[int], options: Sequence[str], wanted: Sequence[str]
) -> None:
    files = [folder / name for name in FILES[data]] if folder is not None else []
    values: Values = {}
    groups: dict[str, str] = {}
    for seed in seeds:
        config = configuration(data, folder, seed, PUBLISHED)
        graphs = made(config, files)
        with RetrievalStore(layout.retrieval_store(graphs)) as store:
            ids = {
                split: [store.record(split, number).sample_id for number in range(store.count(split))]
                for split in ("validation", "test")
            }
        for split in ids:
            rows = make_source(config.graphs, seed).read(split) if files else ()
            groups |= {f"{seed} {row.id}": group(row) for row in rows if isinstance(row, RawSample)}
        for setting in wanted:
            own = configuration(data, folder, seed, SETTINGS[setting])
            if "--kept" in options and not run_of(graphs, own).is_dir():
                continue
            splits = [
                "validation",
                *(["test"] if "--test" in options and setting in LOOKED_AT else []),
            ]
            for split, found in trained(graphs, own, splits).items():
                for method, figures in found.items():
                    for figure, by_name in figures.items():
                        known = values.setdefault((split, setting, method, figure), {})
                        known |= {f"{seed} {name}": by_name.get(name, 0.0) for name in ids[split]}
                print(seed, setting, split, shown(found, ids[split]), flush=True)
    report(data, values, groups)


def estimated(values: Mapping[str, float], groups: Mapping[str, str]) -> dict[str, float | int]:
    """How many seeds and questions, their mean and its interval."""
    mean, low, high = interval(list(values.values()), [groups.get(name, name) for name in values])
    return {"seeds": len({name.split(" ")[0] for name in values}), "n": len(values),
            "mean": round(mean, 4), "low": round(low, 4), "high": round(high, 4)}  # fmt: skip


def report(data: str, values: Values, groups: Mapping[str, str]) -> None:
    """The tables; pairs are over the questions that both have."""
    means: list[dict[str, Any]] = []
    pairs: list[dict[str, Any]] = []
    for (split, setting, method, figure), found in values.items():
        row = {"data": data, "split": split, "setting": setting, "method": method, "figure": figure}
        means.append(row | estimated(found, groups))
        others = [(AGAINST.get(setting), method), (setting, "beam" if method != "beam" else None),
                  (setting, "gflownet" if method == "distinct" else None)]  # fmt: skip
        for other_setting, other_method in others:
            other = values.get((split, str(other_setting), str(other_method), figure), {})
            difference = {name: value - other[name] for name, value in found.items() if name in other}
            if difference:
                against = {"minus setting": other_setting, "minus method": other_method}
                pairs.append(row | against | estimated(difference, groups))
    write_rows("gflownet_published", [data], means)
    write_rows("gflownet_published_differences", [data], pairs)


if __name__ == "__main__":
    words = sys.argv[2:]
    numbers = [int(word) for word in words if word.isdigit()]
    names = [word for word in words if word in SETTINGS]
    folders = [Path(word).resolve() for word in words if Path(word).is_dir()]
    main(
        sys.argv[1],
        folders[0] if folders else None,
        numbers or [0, 1, 2],
        words,
        names or list(SETTINGS),
    )
