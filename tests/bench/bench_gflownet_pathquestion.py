"""The sampler on PathQuestion (Zhou, Huang, Zhu 2018) beside its baselines: several splits of its sets.

    python -m tests.bench.bench_gflownet_pathquestion FOLDER [2h|l2h|3h|l3h ...] [seed ...]

FOLDER holds the published files: PQ-2H.txt with 2H-kb.txt, PQL-2H.txt with PQL2-KB.txt, PQ-3H.txt with 3H-kb.txt,
PQL-3H.txt with PQL3-KB.txt.
Without a set named, those that are there are run. The settings are those of
configs/real/gflownet_pathquestion_*.yaml. A seed draws the split into train, validation and test, and all else.
Whatever a method chooses it chooses on validation; the test questions are looked at once.

Besides the run's own methods:

- `beam for hits@1`, `beam for path F1`: the beam whose bonus for each edge is best on validation by that figure
- `classifier`: logistic regression from the question's embedding to a relation path of the training questions, of which
  the most probable one that can be walked in the question's graph is taken; its C is chosen on validation
- `nearest`: the relation path of the nearest training question that can be walked
- `uniform`: the share of walks, as long as gold paths are, that end at an answer, which is what a guess is worth

Finished runs are kept in outputs/bench_pathquestion, under a name made from their files' content and their settings, so
that the bench goes on where it was stopped and another file of the same name is another run. Figures are means
over the test questions of all seeds. Intervals are bootstrapped over groups of paraphrases (same topic, same
relations), a group with its values from all seeds. Writes results/gflownet_pathquestion.csv and
results/gflownet_pathquestion_differences.csv; rows of sets that are not run stay.
"""

from __future__ import annotations

import csv
import hashlib
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from engine.config.config import Config
from engine.config.file import load_config
from engine.files import csv_text, write_atomic
from engine.gflownet import layout
from engine.gflownet.evaluation import evaluator as evaluation
from engine.gflownet.evaluation.evaluator import EDGE_BONUSES, Evaluation, Evaluator
from engine.gflownet.evaluation.questions import load_questions
from engine.gflownet.graphs.raw import RawSample
from engine.gflownet.graphs.sources import make_source
from engine.gflownet.graphs.store import RetrievalRecord, RetrievalStore, ints
from engine.gflownet.graphs.tables import EmbeddingTables
from engine.gflownet.sampler.module import GFlowNetModule
from engine.run.registry import resolve_stage
from tests.conftest import ROOT
from tests.run_stage import run_stage

RESULTS = Path(__file__).parent / "results"
KEPT = ROOT / "outputs" / "bench_pathquestion"
STAGES = ("graphs", "retriever", "agent-graphs", "gflownet")
FILES = {
    "2h": ("PQ-2H.txt", "2H-kb.txt"),
    "l2h": ("PQL-2H.txt", "PQL2-KB.txt"),
    "3h": ("PQ-3H.txt", "3H-kb.txt"),
    "l3h": ("PQL-3H.txt", "PQL3-KB.txt"),
}
FIGURES = ("hits@1", "success@1", "success@5", "success@20", "answer_recall_union@20", "path_f1_union@1")
OWN = ("distinct", "gflownet", "greedy")
STRENGTHS = (1.0, 10.0, 100.0, 1000.0)
RESAMPLES = 10_000
Figures = dict[str, list[float]]


def key(*parts: object) -> str:
    """A name for all that a result depends on; files count with their content."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.read_bytes() if isinstance(part, Path) else repr(part).encode())
    return digest.hexdigest()[:16]


def configuration(data: str, folder: Path, seed: int) -> Config:
    questions, base = FILES[data]
    return load_config(
        ROOT / "configs" / "real" / f"gflownet_pathquestion_{data}.yaml",
        [f"graphs.path={folder / questions}", f"graphs.knowledge_base={folder / base}",
         f"graphs.split_seed={seed}", f"run.seed={seed}"],
    )  # fmt: skip


def kept_as(data: str, folder: Path, config: Config) -> Path:
    """Where the figures of a run stand: another file of the same name is another run."""
    settings = [config.model_copy(update={"graphs": None}), config.graphs.model_copy(update={"path": None,
                "knowledge_base": None})]  # fmt: skip
    return KEPT / f"{data}_{key(*(folder / name for name in FILES[data]), *settings)}.json"


def one_run(config: Config) -> dict[str, Any]:
    """Every method's figures by test question; how many lines ask each question, and its group."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        run_dir = Path(name)
        found = measured(config, run_dir)
        seconds = time.monotonic() - began
        found |= other_beams(config, run_dir)
        with RetrievalStore(layout.retrieval_store(run_dir)) as store:
            records = {
                split: [store.record(split, number) for number in range(store.count(split))]
                for split in layout.SPLITS
            }
    methods = {method: {name: each.with_all_questions[name] for name in FIGURES if name in each.with_all_questions}
               for method, each in found.items()}  # fmt: skip
    methods |= by_relation_path(records)
    test = records["test"]
    if found["distinct"].missed or any(len(each["hits@1"]) != len(test) for each in methods.values()):
        raise SystemExit("a test question has no agent graph: figures of different questions")
    samples = [
        row for row in make_source(config.graphs, config.run.seed).read("test") if isinstance(row, RawSample)
    ]
    return {
        "seconds": round(seconds),
        "settings": {method: each.settings for method, each in found.items()},
        "groups": [group(sample) for sample in samples],
        "lines": [len(sample.gold_paths) for sample in samples],
        "methods": methods,
    }


def measured(config: Config, run_dir: Path) -> dict[str, Evaluation]:
    """Run the four stages; what they found on the test questions."""
    found: dict[str, Evaluation] = {}
    event = Evaluation.event

    def remembering(self: Evaluation, step: int, split: str, run_seed: int, resamples: int = 2000):  # type: ignore[no-untyped-def]
        if split == "test":
            found[self.method] = self
        return event(self, step, split, run_seed, resamples)

    evaluation.Evaluation.event = remembering  # type: ignore[method-assign]
    try:
        for name in STAGES:
            run_stage(resolve_stage(name), config, run_dir)
    finally:
        evaluation.Evaluation.event = event  # type: ignore[method-assign]
    return found


def other_beams(config: Config, run_dir: Path) -> dict[str, Evaluation]:
    """The best beam on validation for the figures by which a single answer or path is judged."""
    tables = EmbeddingTables.load(run_dir)
    module = GFlowNetModule(tables.width, config.gflownet)
    own, test = (
        Evaluator(module, load_questions(run_dir, split, tables, module), config.run.seed, lambda: None)
        for split in ("validation", "test")
    )
    tried = {bonus: own.beam(bonus).means() for bonus in EDGE_BONUSES}
    names = {"beam for hits@1": "hits@1", "beam for path F1": "path_f1_union@1"}
    return {
        method: test.beam(max(tried, key=lambda bonus: tried[bonus][figure]))
        for method, figure in names.items()
    }


# ---------------------------------------------------------------- baselines without a walk policy

RelationPath = tuple[int, ...]


def walks(record: RetrievalRecord, longest: int) -> dict[RelationPath, list[list[int]]]:
    """The edge numbers of all walks of up to `longest` steps, by their relations."""
    heads, tails, kinds = (ints(rows).tolist() for rows in (record.heads, record.tails, record.relations))
    found: dict[RelationPath, list[list[int]]] = {}
    new = [([], start) for start in record.q_locals]
    for _ in range(longest):
        new = [
            ([*walked, e], tails[e]) for walked, node in new for e in range(len(heads)) if heads[e] == node
        ]
        for walked, _ in new:
            found.setdefault(tuple(kinds[e] for e in walked), []).append(walked)
    return found


def relations(record: RetrievalRecord, path: Sequence[int]) -> RelationPath:
    """The relations along a path."""
    kinds = ints(record.relations)
    return tuple(int(kinds[edge]) for edge in path)


def group(sample: RawSample) -> str:
    """What paraphrases share."""
    return " ".join([sample.q_entity[0], *(relation for _, relation, _ in sample.gold_paths[0])])


def judged(record: RetrievalRecord, walked: Sequence[int]) -> dict[str, float]:
    """Whether a path ends at an answer, and its F1 against the gold edges."""
    tails, gold = ints(record.tails), np.frombuffer(record.labels, np.uint8)
    hits = sum(int(gold[edge]) for edge in set(walked))
    hit = float(bool(walked) and int(tails[walked[-1]]) in record.a_locals)
    f1 = 2 * hits / (len(set(walked)) + int(gold.sum()))
    return {"hits@1": hit, "success@1": hit, "path_f1_union@1": f1}


def by_relation_path(records: dict[str, list[RetrievalRecord]]) -> dict[str, Figures]:
    """The methods that choose a relation path for a question, and the guess."""
    train = [record for record in records["train"] if record.gt_paths]
    longest = max(len(record.gt_paths[0]) for record in train)
    known = [relations(record, record.gt_paths[0]) for record in train]
    classes = sorted(set(known))
    label = np.array([classes.index(path) for path in known])
    x = vectors(train)

    def chosen(scores: NDArray[np.float64], split: str) -> Figures:
        """Of each question, the walk of its best-scored class that its graph has."""
        return table([
            judged(record, next((possible[classes[c]][0] for c in np.argsort(-row) if classes[c] in possible), []))
            for record, row in zip(records[split], scores, strict=True)
            for possible in [walks(record, longest)]
        ])  # fmt: skip

    def classified(strength: float) -> Callable[[str], Figures]:
        model = LogisticRegression(C=strength, max_iter=2000).fit(x, label)
        return lambda split: chosen(model.predict_proba(vectors(records[split])), split)

    def nearest(split: str) -> Figures:
        similar = vectors(records[split]) @ x.T
        return chosen(np.stack([similar[:, label == c].max(1) for c in range(len(classes))], 1), split)

    fitted = [classified(strength) for strength in STRENGTHS]
    best = max(fitted, key=lambda one: np.mean(one("validation")["hits@1"]))
    return {
        "classifier": best("test"),
        "nearest": nearest("test"),
        "uniform": guessed(records["test"], longest),
    }


def guessed(test: list[RetrievalRecord], longest: int) -> Figures:
    """What a walk of the longest length is worth, each of a question's walks as likely as the others."""
    rows = []
    for record in test:
        every = [
            judged(record, walked)
            for found in walks(record, longest).values()
            for walked in found
            if len(walked) == longest
        ]
        rows.append({name: float(np.mean([one[name] for one in every])) for name in every[0]})
    return table(rows)


def table(rows: list[dict[str, float]]) -> Figures:
    return {name: [row[name] for row in rows] for name in rows[0]}


def vectors(records: list[RetrievalRecord]) -> NDArray[np.float32]:
    rows = np.stack([np.frombuffer(record.question_emb, "<f4") for record in records])
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


# ---------------------------------------------------------------- figures with intervals


@lru_cache(maxsize=4)
def resampled(groups: int) -> NDArray[np.int64]:
    """How often each group comes [RESAMPLES, groups]."""
    return np.random.default_rng(0).multinomial(groups, np.full(groups, 1 / groups), RESAMPLES)


def interval(
    values: Sequence[float], groups: Sequence[str], weights: Sequence[float] | None = None
) -> tuple[float, float, float]:
    """Mean and 95% interval; groups are resampled whole."""
    names, place = np.unique(groups, return_inverse=True)
    weight = np.ones(len(values)) if weights is None else np.asarray(weights, dtype=float)
    total = np.bincount(place, weight * np.asarray(values), len(names))
    size = np.bincount(place, weight, len(names))
    draws = resampled(len(names))
    low, high = np.quantile((draws @ total) / (draws @ size), [0.025, 0.975])
    return float(total.sum() / size.sum()), float(low), float(high)


def pooled(runs: Sequence[dict[str, Any]], name: str) -> list[Any]:
    """A list of all runs, one behind the other."""
    return [value for run in runs for value in run[name]]


def values_of(runs: Sequence[dict[str, Any]], method: str, figure: str) -> list[float]:
    return [value for run in runs for value in run["methods"][method].get(figure, ())]


def summary(data: str, runs: dict[int, dict[str, Any]]) -> list[dict[str, Any]]:
    """A row for each method, over all seeds and for each seed."""
    rows = []
    for seed, chosen in [("all", list(runs.values())), *((seed, [run]) for seed, run in runs.items())]:
        groups, lines = pooled(chosen, "groups"), pooled(chosen, "lines")
        for method in chosen[0]["methods"]:
            row: dict[str, Any] = {"data": data, "seed": seed, "method": method, "n": len(groups),
                                   "groups": len(set(groups))}  # fmt: skip
            for figure in FIGURES:
                found = values_of(chosen, method, figure)
                mean, low, high = interval(found, groups) if found else ("", "", "")
                row |= {figure: rounded(mean), f"{figure} low": rounded(low), f"{figure} high": rounded(high)}
            by_line = interval(values_of(chosen, method, "hits@1"), groups, lines)
            rows.append(row | {"hits@1 by line": rounded(by_line[0])})
    return rows


def differences(data: str, runs: dict[int, dict[str, Any]]) -> list[dict[str, Any]]:
    """Sampler minus each other method, over all seeds."""
    chosen, rows = list(runs.values()), []
    groups = pooled(chosen, "groups")
    for own in OWN:
        for other in chosen[0]["methods"]:
            for figure in FIGURES:
                a, b = (values_of(chosen, method, figure) for method in (own, other))
                if other in OWN or not a or not b:
                    continue
                mean, low, high = interval(np.subtract(a, b).tolist(), groups)
                rows.append({"data": data, "figure": figure, "method": own, "against": other,
                             "difference": rounded(mean), "low": rounded(low), "high": rounded(high)})  # fmt: skip
    return rows


def rounded(value: float | str) -> float | str:
    return value if isinstance(value, str) else round(value, 4)


def write_rows(name: str, sets: Sequence[str], rows: Sequence[dict[str, Any]]) -> None:
    """The table results/NAME.csv, in which rows of other sets of data, or of settings that were not measured, stay."""
    path = RESULTS / f"{name}.csv"
    known = list(csv.DictReader(path.open())) if path.is_file() else []
    made = {(row["data"], row.get("setting")) for row in rows} | {(data, None) for data in sets}
    kept = [row for row in known if (row["data"], row.get("setting")) not in made]
    write_atomic(path, csv_text([*kept, *rows]))


def main(folder: Path, sets: Sequence[str], seeds: Sequence[int]) -> None:
    every: list[dict[str, Any]] = []
    compared: list[dict[str, Any]] = []
    for data in sets:
        runs = {}
        for seed in seeds:
            config = configuration(data, folder, seed)
            path = kept_as(data, folder, config)
            if not path.is_file():
                path.parent.mkdir(parents=True, exist_ok=True)
                write_atomic(path, json.dumps(one_run(config)))
            runs[seed] = json.loads(path.read_text())
            print(data, seed, runs[seed]["seconds"], "s", flush=True)
        every += summary(data, runs)
        compared += differences(data, runs)
    write_rows("gflownet_pathquestion", sets, every)
    write_rows("gflownet_pathquestion_differences", sets, compared)
    for row in every:
        print({name: value for name, value in row.items() if "low" not in name and "high" not in name})


if __name__ == "__main__":
    folder, words = Path(sys.argv[1]).resolve(), sys.argv[2:]
    main(
        folder,
        [word for word in words if word in FILES]
        or [data for data in FILES if (folder / FILES[data][0]).is_file()],
        [int(word) for word in words if word not in FILES] or [0, 1, 2],
    )
