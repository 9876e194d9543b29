"""Ready configurations run to their end on small files in the published formats, with the embedded models in place of
the large ones: that configuration, reader and stages belong together."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow
import pyarrow.parquet as parquet
import torch

from engine.config.file import load_config
from engine.config.gflownet import GraphsSection
from engine.events import Event, GraphsBuilt, MethodCompared, MethodEvaluated, ModeScored, RetrieverMeasured
from engine.gflownet.graphs.generated.questions import GeneratedSource
from engine.gflownet.graphs.raw import RawSample
from engine.gflownet.layout import SPLITS
from engine.run.registry import resolve_stage
from engine.tasks.financebench import financebench_record
from engine.tasks.generated.arithmetic import generate
from engine.tasks.generated.dialogues.records import multichallenge_jsonl
from engine.tasks.generated.splits import Split
from engine.tasks.generated.statements import generate_statements
from tests.conftest import ROOT
from tests.run_stage import run_stage


def run(name: str, folder: Path, *overrides: str) -> list[Event]:
    """All stages of a ready configuration, one after the other."""
    config = load_config(ROOT / "configs" / f"{name}.yaml", overrides)
    return [
        event
        for stage in config.run.stages
        for event in run_stage(resolve_stage(stage), config, folder / "run")
    ]


def write_parquet(path: Path, rows: list[dict[str, object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pyarrow.Table.from_pylist(rows), path)


def test_esm_on_gsm8k(tmp_path: Path) -> None:
    """As the hub has it; the problems are of the kind that the embedded model can answer."""
    sizes: dict[Split, int] = {"train": 12, "test": 6}
    for split, size in sizes.items():
        rows: list[dict[str, object]] = [
            {"question": one.question, "answer": one.solution.replace("\n\n", "\n")}
            for one in generate(split, size, 0)
        ]
        write_parquet(tmp_path / f"gsm8k/main/{split}-00000-of-00001.parquet", rows)
    events = run(
        "esm_gsm8k_qwen2.5-1.5b",
        tmp_path,
        f"task.path={tmp_path}/gsm8k",
        "task.train_size=12",
        "offline_mine.K=6",
        "model={backend: embedded}",
        "prompt.template='{question}'",
        "decode.max_new_tokens=200",
        "offline_mine.max_new_tokens=200",
        "offline_mine.candidate_layers=[2]",
        "eval.ablations=[]",
    )
    final = {event.method: event for event in events if isinstance(event, MethodEvaluated) and event.final}
    assert {name: event.n for name, event in final.items()} == {"greedy": 6, "majority_vote": 6, "esm": 6}
    assert final["greedy"].accuracy > 0, "answers are found and compared"


def test_gflownet_on_rog_with_scores_of_subgraphrag(tmp_path: Path) -> None:
    """Shards as the hub has them, a file of scores for each split, a training question that the test asks, too."""
    section = GraphsSection(train_size=24, validation_size=6, test_size=8, nodes=300, edges=60, max_hops=2)
    source = GeneratedSource(section, 0)
    rows: dict[str, list[dict[str, object]]] = {
        split: [
            {name: getattr(one, name) for name in ("id", "question", "answer", "q_entity", "a_entity")}
            | {"graph": [list(triple) for triple in one.graph], "choices": []}
            for one in source.read(split)
            if isinstance(one, RawSample)
        ]
        for split in SPLITS
    }
    rows["train"].append(rows["test"][0])
    for split, found in rows.items():
        for part in (0, 1):
            write_parquet(tmp_path / f"rog/data/{split}-0000{part}-of-00002-ab12.parquet", found[part::2])
        scored = {
            row["id"]: {
                "question": row["question"],
                "scored_triples": [
                    (h, r, t, 0.9 if t in row["a_entity"] else 0.2)  # type: ignore[operator]
                    for h, r, t in row["graph"]  # type: ignore[attr-defined]
                ],
                "max_path_length": None,
            }
            for row in found
            if split == "test" or row["id"] != rows["test"][0]["id"]
        }
        (tmp_path / "scores").mkdir(exist_ok=True)
        torch.save(scored, tmp_path / f"scores/{split}.pth")
    events = run(
        "gflownet_rog-webqsp_subgraphrag",
        tmp_path,
        f"graphs.path={tmp_path}/rog",
        f"retriever.scores={tmp_path}/scores",
        "graphs.embedder=hashed",
        "graphs.device=cpu",
        "gflownet={steps: 20, batch_size: 8, num_eval_rollouts: 5, success_k: [1, 5], eval_every: 10, "
        "checkpoint_every: 10, policy: {hidden: 16}, embedder: {use_retriever_projector: false}}",
        "answer.questions=8",
    )
    built = {event.split: event for event in events if isinstance(event, GraphsBuilt)}
    assert built["train"].dropped == {"asked in test, too": 1}
    assert {split: event.samples for split, event in built.items()} == {
        "train": 24,
        "validation": 6,
        "test": 8,
    }
    measured = [event for event in events if isinstance(event, RetrieverMeasured)]
    assert [(event.missing, event.unscored, event.strangers) for event in measured] == [(0, 0, 0)] * 3
    # From paths and from triples; one question keeps no graph, as its ways end at the first anchor.
    assert (tmp_path / "run/gflownet/answers.jsonl").read_text().count("\n") == 2 * 8


def test_evolution_on_financebench(tmp_path: Path) -> None:
    lines = [json.dumps(financebench_record(one)) for one in generate_statements("dev", 20, 0)]
    (tmp_path / "financebench_open_source.jsonl").write_text("\n".join(lines) + "\n")
    run(
        "evolution_financebench_qwen2.5-7b",
        tmp_path,
        f"evolution.financebench={tmp_path}/financebench_open_source.jsonl",
        "evolution.model={backend: embedded, path: statements}",
        "evolution.server.kind=in_process",
        "evolution.reflector.kind=statistical",
        "evolution.judge.kind=numeric",
        "evolution.minibatch_size=6",
        "evolution.validation_size=6",
        "evolution.test_size=6",
        "evolution.iterations=1",
        "evolution.max_new_tokens=96",
        "clusters.embedder=hashed",
        "clusters.device=cpu",
        "clusters.k=8",
    )
    history = json.loads((tmp_path / "run/evolution/history.json").read_text())
    assert len(history["iterations"]) == 1
    assert (tmp_path / "run/evolution/processor_best.py").is_file()


def test_evolution_on_gsm8k(tmp_path: Path) -> None:
    """Both splits are read, the task's metric judges, and every baseline stands beside the deltas."""
    sizes: dict[Split, int] = {"train": 10, "test": 4}
    for split, size in sizes.items():
        lines = [{"question": one.question, "answer": one.solution} for one in generate(split, size, 0)]
        path = tmp_path / f"gsm8k/{split}.jsonl"
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    events = run(
        "real/evolution_gsm8k_qwen0.5b",
        tmp_path,
        f"task.path={tmp_path}/gsm8k",
        "model={backend: embedded}",
        "prompt.template='{question}'",
        "clusters.embedder=hashed",
        "clusters.device=cpu",
        "clusters.k=8",
        "evolution.minibatch_size=4",
        "evolution.validation_size=4",
        "evolution.test_size=4",
        "evolution.iterations=1",
        "evolution.max_new_tokens=120",
    )
    rows = {event.method: event for event in events if isinstance(event, MethodCompared)}
    assert list(rows) == ["no_processor", "length_cap", "chosen_cap", "brief_prompt", "best"]
    assert rows["no_processor"].n == 4 and rows["no_processor"].correctness > 0


def test_slsm_on_multichallenge(tmp_path: Path) -> None:
    """The hub's parquet: names in small letters."""
    rows = [json.loads(line) for line in multichallenge_jsonl(12, 0).splitlines()]
    path = tmp_path / "multichallenge/test-00000-of-00001.parquet"
    write_parquet(path, [{name.lower(): value for name, value in row.items()} for row in rows])
    events = run(
        "slsm_multichallenge_qwen2.5-7b",
        tmp_path,
        f"slsm.data.path={path}",
        "slsm.model={backend: embedded, path: dialogues}",
        "slsm.controller.kind=rules",
        "slsm.judge={kind: exact}",
        "slsm.max_new_tokens=16",
    )
    scored = {event.mode: event for event in events if isinstance(event, ModeScored)}
    assert set(scored) == {"baseline", "on_risk", "always", "on_detection"}
