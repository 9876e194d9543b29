"""What a check says of a run's stages, and of data files that several of them name."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from engine.check import check_config
from engine.check.custom_classes import _FIELDS, check_custom_classes
from engine.check.data import check_data
from engine.check.finding import Finding
from engine.config.config import Config
from tests.engine.pool.vqa_folder import write_folder, write_rl

FETCHED = "it is fetched when a stage needs it; without a network, copy its files here and name them"
PUT = "put it there, or correct the path"


@pytest.fixture(autouse=True)
def _no_hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))


def config(*stages: str, **sections: Any) -> Config:
    return Config.model_validate({"run": {"stages": list(stages)}, **sections})


def test_stages_that_read_what_others_write_say_from_where_it_may_come() -> None:
    found = [one for one in check_config(config("memory", "slsm")) if one.where == "run.stages"]
    assert found == [
        Finding("here", "memory, slsm", "run.stages"),
        Finding(
            "absent", "`memory` reads files that `select` writes, which is not among the stages", "run.stages",
            "put `select` before it, or run it in a run that has it: steer-tui batch --resume RUN --stages memory",
        ),
    ]  # fmt: skip


def test_splits_of_a_task_on_the_hub_are_fetched_when_they_are_needed() -> None:
    found = check_data(config("mine", task={"dataset": "math500"}))
    assert list(found) == [
        Finding(
            "absent", f"math500, split `{split}`: hub:{name} is not here", "task.path", FETCHED, fetched=True
        )
        for split, name in (
            ("train", "DigitalLearningGmbH/MATH-lighteval"),
            ("test", "HuggingFaceH4/MATH-500"),
        )
    ]


@pytest.mark.parametrize("stage", ["mine", "eval"])
def test_each_stage_that_reads_the_task_needs_its_files(stage: str) -> None:
    where = [one.where for one in check_data(config(stage, task={"dataset": "math500"}))]
    assert where == ["task.path", "task.path"]


@pytest.mark.parametrize("stage", ["pool", "selector"])
def test_each_stage_that_reads_the_pool_needs_its_files(stage: str) -> None:
    found = check_data(config(stage, pool={"dataset": "digits", "rl_data": "/nowhere/rl.json"}))
    assert [one.where for one in found] == ["pool.dataset", "pool.rl_data"]


def test_the_files_of_an_evolution_are_looked_for() -> None:
    evolution = {
        "initial_deltas": "none.json",
        "reflector": {"user_template": "none.txt"},
        "financebench": "f.jsonl",
    }
    deltas, template, questions = check_data(config("evolve", evolution=evolution))
    assert deltas == Finding("absent", "none.json is not here", "evolution.initial_deltas", PUT)
    assert template.kind == "wrong" and template.where == "evolution.reflector"
    assert template.what.startswith("this message cannot be read: ")
    assert questions == Finding("absent", "f.jsonl is not here", "evolution.financebench", PUT)


def test_a_graph_of_paths_needs_its_knowledge_base_too(tmp_path: Path) -> None:
    """And is never one of the hub's, whatever it is called."""
    (tmp_path / "paths").mkdir()
    graphs = {"dataset": "pathquestion", "path": str(tmp_path / "paths"), "knowledge_base": "kb.txt"}
    (found,) = check_data(config("graphs", graphs=graphs))
    assert found == Finding("absent", "kb.txt is not here", "graphs.knowledge_base", PUT)
    (found,) = check_data(
        config("graphs", graphs=graphs | {"path": "none.txt", "knowledge_base": str(tmp_path)})
    )
    assert found == Finding("absent", "none.txt is not here", "graphs.path", PUT)


def test_the_questions_of_each_split_of_a_graph_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of RoG's data the hub has some; of others nothing is fetched."""
    sizes = {"train": 30, "validation": 20, "test": 10}
    source = SimpleNamespace(size=sizes.__getitem__, remark="; two left out")
    monkeypatch.setattr("engine.gflownet.graphs.sources.make_source", lambda section, seed: source)
    (found,) = check_data(config("graphs", graphs={"dataset": "rog", "path": str(tmp_path)}))
    said = f"{tmp_path}: 30 of `train`, 20 of `validation`, 10 of `test`; two left out"
    assert found == Finding("here", said, "graphs.path")
    (found,) = check_data(config("graphs", graphs={"dataset": "rog", "path": "hub:me/rog"}))
    assert found == Finding("absent", "hub:me/rog is not here", "graphs.path", FETCHED, fetched=True)
    graphs = {"dataset": "pathquestion", "path": "hub:me/rog", "knowledge_base": str(tmp_path)}
    (found,) = check_data(config("graphs", graphs=graphs))
    assert found == Finding("absent", "hub:me/rog is not here", "graphs.path", PUT)


def test_rl_data_may_lie_in_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    pool = {"dataset": "files", "files": write_folder(tmp_path), "vqa": {"kind": "openai"}}
    write_rl(tmp_path)
    found = check_data(config("pool", pool=pool | {"rl_data": "~/rl.json"}))
    told = [(one.kind, one.what) for one in found if one.where == "pool.rl_data"]
    assert told == [("here", "~/rl.json"), ("here", "6 queries, 6 of them to train on")]
    found = check_data(config("pool", pool=pool | {"rl_data": "~/none.json"}))
    told = [(one.kind, one.what) for one in found if one.where in ("pool.rl_data", "pool.files")]
    assert told == [("absent", "~/none.json is not here")]


def test_answers_that_do_not_fit_all_conversations_are_told(tmp_path: Path) -> None:
    questions, answers = tmp_path / "q.jsonl", tmp_path / "a.jsonl"
    asked = [{"id": name, "messages": [{"role": "user", "content": "Hi"}]} for name in ("one", "two")]
    questions.write_text("".join(json.dumps(one) + "\n" for one in asked))
    answers.write_text('{"id": "one", "answer": "Hello"}\n{"id": "three", "answer": "Hello"}\n')
    slsm = {
        "compare": ["baseline"], "data": {"path": str(questions)}, "answers": {"kind": "file", "path": str(answers)},
    }  # fmt: skip
    _, found = check_data(config("slsm", slsm=slsm))
    said = "no answer to 1 of 2 conversations; no conversation for 1 of 2 answers"
    assert found == Finding("here", f"{answers}: {said}", "slsm.answers.path")


@pytest.mark.parametrize(
    ("field", "kind"),
    [
        ("evolution.judge.kind", "engine.evolution.judges.judge:Judge"),
        ("evolution.reflector.kind", "engine.evolution.reflectors.reflector:Reflector"),
        ("slsm.judge.kind", "engine.slsm.judges.judge:AnswerJudge"),
        ("slsm.controller.kind", "engine.slsm.controllers.controller:MemoryController"),
        ("answer.reader", "engine.gflownet.answer.readers:Reader"),
    ],
)
def test_each_field_takes_a_class_of_its_own_protocol(
    field: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[tuple[str, str, str]] = []
    monkeypatch.setattr(
        "engine.check.custom_classes.make_custom",
        lambda name, where, protocol: made.append(
            (name, where, f"{protocol.__module__}:{protocol.__name__}")
        ),
    )
    *sections, name = field.split(".")
    settings: dict[str, Any] = {name: "mine:Own"}
    for section in reversed(sections):
        settings = {section: settings}
    stage, _ = _FIELDS[field]
    found = list(check_custom_classes(config(stage, **settings)))
    assert made == [("mine:Own", field, kind)]
    assert found == [Finding("here", "mine:Own can be used", field)]
