"""`steer-tui check`: what is wrong, what is not here yet and what is fine are told apart, and nothing runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from app.cli import main
from app.doctor.check import run_check
from engine.check import check_config, data
from engine.check.finding import Finding, Findings
from engine.check.requirements import _gguf, _lacking_weights, models_of
from engine.config.config import Config
from engine.config.file import load_config
from engine.config.pool import PoolFilesSection
from engine.errors import ConfigError, Problem
from tests.conftest import ROOT
from tests.engine.pool.vqa_folder import write_folder, write_rl
from tests.tiny_models import save_tiny

QUESTION = {"question": "How many?", "answer": "#### 4"}
LINE = {"financebench_id": "a", "question": "Q", "answer": "1", "evidence": [{"evidence_text": "E"}]}


@pytest.fixture(autouse=True)
def _no_hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def findings(tmp_path: Path, text: str, *overrides: str) -> dict[str, Finding]:
    """By the field they are about; the last one of a field."""
    path = tmp_path / "c.yaml"
    path.write_text(text)
    return {one.where: one for one in check_config(load_config(path, overrides))}


def kinds(found: dict[str, Finding]) -> dict[str, str]:
    return {where: one.kind for where, one in found.items()}


def all_of(tmp_path: Path, text: str, *overrides: str) -> list[tuple[str, str, str, str]]:
    """Every finding but that of the stages, in order: kind, field, what, hint."""
    path = tmp_path / "c.yaml"
    path.write_text(text)
    _, *others = check_config(load_config(path, overrides))
    return [(one.kind, one.where, one.what, one.hint) for one in others]


def cached(tmp_path: Path, kind: str, name: str, file: str) -> Path:
    """An empty file in the cache of the hub."""
    folder = tmp_path / "cache" / f"{kind}--{name.replace('/', '--')}"
    (folder / "refs").mkdir(parents=True, exist_ok=True)
    (folder / "refs/main").write_text("abc")
    path = folder / "snapshots/abc" / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


def write_lines(path: Path, *records: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


# ---------------------------------------------------------------- the command


def test_several_files_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All errors of a wrong one, notes of one whose data is not here; 2 if any is wrong."""
    wrong, right = tmp_path / "wrong.yaml", tmp_path / "right.yaml"
    wrong.write_text("online: {L: 0, prob_tokens: 4}\nrun: {stages: [eval, memory]}\n")
    right.write_text("run: {stages: [mine]}\ntask: {dataset: gsm8k, path: nowhere}\n")
    assert main(["check", str(wrong), str(right)]) == 2
    out = " ".join(capsys.readouterr().out.split())
    for part in (
        "online.L: found 0, expected a whole number at least 1",
        "did you mean `online.probe_tokens`?",
        "`memory` before `eval`",
        "3 to correct",
        "gsm8k, split `train`: nowhere is not here - put train.jsonl or train.parquet there",
        "gsm8k, split `test`: nowhere is not here - put test.jsonl or test.parquet there",
        "right; 2 not here yet",
    ):
        assert part in out, out
    assert main(["check", str(right)]) == 0
    assert main(["check", str(right), "--set", "task.train_split=socratic", "task.path=null"]) == 2
    assert capsys.readouterr().out.count("gsm8k has no split `socratic` on the hub") == 1


def test_without_a_file_it_is_the_demo(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check"]) == 0
    out = capsys.readouterr().out
    assert "demo.yaml" in out and "everything it needs is here" in out


def test_an_empty_file_sets_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With `--set` it does."""
    path = tmp_path / "empty.yaml"
    said = []
    for more in ([], ["--set", "run.seed=3"]):
        path.write_text("# nothing yet\n")
        main(["check", str(path), *more])
        said.append("empty.yaml: sets nothing: every field has its default" in capsys.readouterr().out)
    assert said == [True, False]


def test_of_very_many_problems_the_rest_is_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "many.yaml"
    path.write_text("".join(f"k{number}: 1\n" for number in range(42)))
    assert main(["check", str(path)]) == 2
    lines = capsys.readouterr().out.splitlines()
    assert lines[-3:-1] == [
        f"  wrong         {path}:40 k39: found 1, expected a known field",
        "  wrong         and 2 more",
    ]


@pytest.mark.parametrize(
    "more", (["--batch"], ["--config", "c.yaml"], ["--stages", "eval"], ["--resume", "x"])
)
def test_options_that_do_not_go_with_it(more: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["check", "configs/demo.yaml", *more])
    assert caught.value.code == 2


def test_nothing_runs_and_nothing_heavy_is_loaded(tmp_path: Path) -> None:
    """No folder of a run is made, and torch is not imported: a check takes a second."""
    code = (
        "import sys; from app.cli import main; code = main(['check']);"
        "print(sorted({'torch', 'transformers', 'textual'} & set(sys.modules))); sys.exit(code)"
    )
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 and done.stdout.splitlines()[-1] == "[]", done.stdout + done.stderr
    assert not list(tmp_path.iterdir())


# ---------------------------------------------------------------- models, servers, packages


def test_models(tmp_path: Path) -> None:
    model = save_tiny(tmp_path / "tiny")
    text = "run: {stages: [mine]}\nmodel: {backend: transformers, path: %s}\n"
    assert findings(tmp_path, text % model)["model.path"].kind == "here"
    assert findings(tmp_path, text % "/no/such/model")["model.path"].kind == "absent"
    fetched = findings(tmp_path, text % "Qwen/Qwen2.5-1.5B-Instruct")["model.path"]
    assert fetched.kind == "absent" and "hf download Qwen/Qwen2.5-1.5B-Instruct" in fetched.hint
    names = [f"model-0000{number}-of-00002.safetensors" for number in (1, 2)]
    index = {"weight_map": {"a": names[0], "b": names[1]}}
    (model / "model.safetensors.index.json").write_text(json.dumps(index))
    (model / "model.safetensors").rename(model / names[0])
    torn = findings(tmp_path, text % model)["model.path"]
    assert torn.kind == "wrong" and f"no {names[1]}" in torn.what
    (model / names[1]).touch()
    empty = findings(tmp_path, text % model)["model.path"]
    assert empty.kind == "wrong" and "is cut" in empty.what and names[1] in empty.what
    (model / names[1]).write_bytes((model / names[0]).read_bytes())
    assert findings(tmp_path, text % model)["model.path"].kind == "here"
    (model / "model.safetensors.index.json").unlink()
    (model / "config.json").unlink()
    for weights in model.glob("*.safetensors"):
        weights.unlink()
    broken = findings(tmp_path, text % model)["model.path"]
    assert broken.kind == "wrong" and "no config.json and no weights" in broken.what
    unknown = findings(tmp_path, "run: {stages: [mine]}\nmodel: {path: poetry}\n")["model.path"]
    assert unknown.kind == "wrong" and "poetry" in unknown.what


def test_of_an_interrupted_download_the_first_missing_file_is_named(tmp_path: Path) -> None:
    names = [f"model-{number:05}-of-00300.safetensors" for number in range(1, 301)]
    index = {"weight_map": {f"w{number}": name for number, name in enumerate(reversed(names))}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    for name in names[:3]:
        (tmp_path / name).touch()
    assert _lacking_weights(tmp_path) == [names[3]]


@pytest.mark.parametrize(
    ("backend", "found"),
    [
        ("transformers", Finding("here", "transformers: m.gguf", "model.path")),
        (
            "vllm",
            Finding(
                "wrong", "vLLM is not started on GGUF files here", "model.backend", "set it to transformers"
            ),
        ),
    ],
)
def test_a_gguf_file_is_for_transformers(
    backend: str, found: Finding, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.lm.loading.gguf_file.gguf_file", lambda path: Path(path))
    monkeypatch.setattr("engine.lm.loading.gguf_file.PACKAGES", ())
    findings = Findings()
    assert _gguf(findings, "model", backend, "m.gguf") and findings.all == [found]


def test_a_model_that_lacks_its_tokenizer_or_has_a_damaged_index(tmp_path: Path) -> None:
    model = tmp_path / "model"
    model.mkdir()
    text = f"run: {{stages: [mine]}}\nmodel: {{path: {model}, backend: transformers}}\n"
    (model / "config.json").write_text('{"model_type": "qwen2"}')
    (model / "model.safetensors.index.json").write_text("[]")
    lacking = f"{model} has no tokenizer and no readable model.safetensors.index.json"
    assert all_of(tmp_path, text)[0] == ("wrong", "model.path", lacking, "copy the whole model")
    (model / "pytorch_model.bin.index.json").write_text('{"weight_map": {"a": "one.bin"}}')
    assert all_of(tmp_path, text)[0] == ("wrong", "model.path", lacking, "copy the whole model"), "once"
    lacking = f"{model} has no readable model.safetensors.index.json"
    for name in ("vocab.json", "spiece.model", "tokenizer_config.json"):
        (model / name).write_text("{}")
        assert all_of(tmp_path, text)[0] == ("wrong", "model.path", lacking, "copy the whole model"), name
        (model / name).unlink()


def test_files_made_elsewhere_are_looked_for_each_under_its_field(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`~` is the user's folder; of a file that can be read it is told what is in it."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "e.npy").touch()
    write_lines(tmp_path / "p.jsonl", *[{"positive": "a", "negative": text} for text in "bcd"])
    hint = "put it there, or correct the path"
    names = "{embeddings: ~/e.npy, pca: p.npy, labels: l.npy, descriptions: d.json}"
    found = all_of(tmp_path, f"run: {{stages: [clusters]}}\nclusters: {names}\n")
    assert [one for one in found if one[1].startswith("clusters.") and one[1] != "clusters.embedder"] == [
        ("here", "clusters.embeddings", "~/e.npy", ""),
        ("absent", "clusters.pca", "p.npy is not here", hint),
        ("absent", "clusters.labels", "l.npy is not here", hint),
        ("absent", "clusters.descriptions", "d.json is not here", hint),
    ]
    text = "run: {stages: [mine, select, memory, eval]}\neval: {contrast: {path: %s}, vector: {path: none.gguf}}\n"
    absent = ("absent", "eval.vector.path", "none.gguf is not here", hint)
    for path, contrast in (
        ("~/p.jsonl", ("here", "eval.contrast.path", "~/p.jsonl: 3 pairs", "")),
        ("q.jsonl", ("absent", "eval.contrast.path", "q.jsonl is not here", hint)),
    ):
        assert [one for one in all_of(tmp_path, text % path) if one[1].startswith("eval.")] == [
            absent,
            contrast,
        ]
    model = findings(tmp_path, "run: {stages: [mine]}\nmodel: {backend: transformers, path: ~/tiny}\n")[
        "model.path"
    ]
    assert (model.kind, model.what) == ("absent", f"the folder {tmp_path}/tiny does not exist")
    save_tiny(tmp_path / "tiny")
    model = findings(tmp_path, "run: {stages: [mine]}\nmodel: {backend: transformers, path: ~/tiny}\n")[
        "model.path"
    ]
    assert (model.kind, model.what) == ("here", f"transformers: {tmp_path}/tiny")


@pytest.mark.parametrize(("layers", "told"), [([3, 5], "3, 5"), ([], "not told")])
def test_a_vector_says_for_which_layers_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, layers: list[int], told: str
) -> None:
    monkeypatch.setattr("engine.vectors.formats.read_vectors", lambda path: SimpleNamespace(layers=layers))
    path = tmp_path / "v.gguf"
    path.touch()
    found = findings(
        tmp_path, f"run: {{stages: [mine, select, memory, eval]}}\neval: {{vector: {{path: {path}}}}}\n"
    )
    assert found["eval.vector.path"].what == f"{path}: a vector for layers {told}"


def test_a_processor_without_8_bit_products_is_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def refuse(device: Any) -> None:
        asked.append(str(device))
        raise ConfigError([Problem("dtype", "int8", "another one")])

    monkeypatch.setattr("engine.lm.loading.int8_linear.check_int8", refuse)
    text = "run: {stages: [mine]}\nmodel: {backend: transformers, path: %s, dtype: %s, device: cpu}\n"
    path = save_tiny(tmp_path / "tiny")
    assert "model.dtype" not in findings(tmp_path, text % (path, "float32")) and not asked
    found = findings(tmp_path, text % (path, "int8"))
    assert [one.kind for where, one in found.items() if "dtype" in where] == ["wrong"] and asked == ["cpu"]


def test_what_is_in_the_hub_s_cache_is_here(tmp_path: Path) -> None:
    """A model, an embedder and a data set, each by its files; another file of the data set is not the one."""
    text = """
run: {stages: [clusters, evolve]}
clusters: {embedder: some/embedder}
evolution: {server: {kind: in_process}, judge: {kind: numeric}, reflector: {kind: statistical},
  financebench: "hub:me/fb"}
model: {backend: transformers, path: me/model}
"""
    fetched = "it is fetched when a stage needs it"
    config = cached(tmp_path, "models", "me/model", "config.json")
    config.write_text('{"model_type": "qwen2"}')
    cached(tmp_path, "models", "some/embedder", "config.json")
    cached(tmp_path, "datasets", "me/fb", "other.jsonl")
    assert all_of(tmp_path, text) == [
        (
            "absent", "model.path", "me/model is not in the hub's cache",
            f"{fetched}; or fetch it now: hf download me/model",
        ),
        (
            "absent", "clusters.embedder", "some/embedder is not in the hub's cache",
            "it is fetched when the stage needs it",
        ),
        (
            "absent", "evolution.financebench", "hub:me/fb is not here",
            f"{fetched}; without a network, copy its files here and name them",
        ),
    ]  # fmt: skip
    assert not any(one.stops for one in findings(tmp_path, text).values()), "all of it is fetched"
    assert findings(tmp_path, text, "evolution.financebench=none.jsonl")["evolution.financebench"].stops
    for name in ("me/model", "some/embedder"):
        weights = cached(tmp_path, "models", name, "model.safetensors")
        weights.write_bytes((2).to_bytes(8, "little") + b"{}")
    lines = cached(tmp_path, "datasets", "me/fb", "financebench_merged.jsonl")
    write_lines(lines, *(LINE | {"financebench_id": str(number)} for number in range(200)))
    assert all_of(tmp_path, text)[:2] == [
        ("here", "model.path", "transformers: me/model, in the hub's cache", ""),
        ("here", "clusters.embedder", "some/embedder", ""),
    ]
    assert "evolution.financebench" not in {one[1] for one in all_of(tmp_path, text) if one[0] == "absent"}


def test_only_what_the_stages_use_is_looked_at(tmp_path: Path) -> None:
    text = """
run: {stages: [%s]}
model: {backend: transformers, path: a/b}
slsm: {answers: {kind: openai}, judge: {kind: openai, openai: {api_key_env: JUDGE_KEY}}}
answer: {reader: openai, openai: {base_url: "http://127.0.0.1:9/v1"}}
"""
    asked = {
        "run.stages",
        "slsm.answers.openai.api_key_env",
        "slsm.judge.openai.api_key_env",
        "slsm.data.path",
    }
    found = findings(tmp_path, text % "slsm")
    controller = found.pop("slsm.controller.openai.api_key_env")
    assert set(found) == asked
    assert "export OPENAI_API_KEY" in controller.hint and "slsm.controller.kind: rules" in controller.hint
    baseline = text.replace("slsm: {", "slsm: {disable_controller: true, ")
    assert set(findings(tmp_path, baseline % "slsm")) == asked, "no controller is asked, so none needs a key"
    found = findings(tmp_path, text % "answer")
    assert kinds(found) == {"run.stages": "absent", "answer.openai.api_key_env": "here"}
    assert "`answer` reads files that `gflownet` writes" in found["run.stages"].what


def test_a_keys_name_is_told_and_never_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(
        "run: {stages: [slsm]}\n"
        "slsm: {controller: {kind: openai}, judge: {kind: openai, openai: {api_key_env: OTHER}}}\n"
    )
    monkeypatch.setenv("OPENAI_API_KEY", "sk-zyxomma")
    assert run_check([path]) == 0
    out = capsys.readouterr().out
    assert "OPENAI_API_KEY is set" in out and "variable OTHER is not set" in out and "zyxomma" not in out
    monkeypatch.setenv("OPENAI_API_KEY", "sk-zyxomma\nsk-two")
    assert run_check([path]) == 2
    out = capsys.readouterr().out
    assert "OPENAI_API_KEY holds" in out and "zyxomma" not in out


def test_given_scores_have_no_projector_to_share(tmp_path: Path) -> None:
    """Found before the stage gflownet is reached; a sampler with projections of its own is right."""
    text, where = (
        "run: {stages: [%s]}\nretriever: {scores: here}\n",
        "gflownet.embedder.use_retriever_projector",
    )
    found = findings(tmp_path, text % "graphs, retriever, agent-graphs, gflownet")[where]
    assert (found.kind, found.what) == ("wrong", "given scores come without a projector")
    assert "set it to false" in found.hint
    assert where not in findings(tmp_path, text % "graphs, retriever")
    assert where not in findings(tmp_path, text % "gflownet", f"{where}=false")


def test_packages_and_programs(tmp_path: Path) -> None:
    """A package is not here, or here with its version; a server's command is read as the run reads it."""
    text = """
run: {stages: [clusters, evolve]}
clusters: {embedder: some/embedder}
evolution: {pool_size: 200, model: {backend: vllm, path: a/b}, server: {kind: sglang, command: "%s"}}
scale: {address: auto}
"""
    found = findings(tmp_path, text % "/no/python -m sglang.launch_server --host {host} --port {port}")
    assert kinds(found)["evolution.server.command"] == "absent"
    assert "program /no/python is not installed" in found["evolution.server.command"].what
    assert found["clusters.embedder"].kind == "absent"
    assert found["scale.address"].where and found["evolution.model.backend"].where
    found = findings(tmp_path, text % "python -m sglang.launch_server --host 0.0.0.0")
    assert found["evolution.server.command"].kind == "wrong"
    assert "only this machine may reach" in found["evolution.server.command"].what


def test_a_server_whose_program_is_here_is_told_by_it(tmp_path: Path) -> None:
    program = tmp_path / "sglang"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    text = (
        "run: {stages: [clusters, evolve]}\nevolution: {server: {kind: sglang, "
        f'command: "{program} --host {{host}} --port {{port}}"}}}}\n'
    )
    found = [one for one in all_of(tmp_path, text) if one[1] == "evolution.server.command"]
    assert found == [("here", "evolution.server.command", str(program), "")]


# ---------------------------------------------------------------- data


@pytest.mark.parametrize(
    ("text", "where", "what"),
    [
        ("run: {stages: [mine]}", "task.dataset", "generated"),
        ("run: {stages: [graphs]}", "graphs.dataset", "generated"),
        ("run: {stages: [slsm]}", "slsm.data.path", "generated"),
        ("run: {stages: [pool]}", "pool.dataset", "scikit-learn's digits"),
        (
            "run: {stages: [evolve]}\nevolution: {pool_size: 30, minibatch_size: 6, validation_size: 8, test_size: 5}",
            "evolution.financebench", "generated: 30 questions, 17 to draw from, 8 for validation, 5 for the test",
        ),
    ],
)  # fmt: skip
def test_data_that_is_made_here_has_a_finding_too(tmp_path: Path, text: str, where: str, what: str) -> None:
    found = [one for one in all_of(tmp_path, f"{text}\n") if one[1] == where]
    assert found[0] == ("here", where, what, "")


def test_a_task_is_read_and_its_splits_compared(tmp_path: Path) -> None:
    text = f"run: {{stages: [mine]}}\ntask: {{dataset: gsm8k, path: {tmp_path}/data}}\n"
    write_lines(tmp_path / "data/train.jsonl", QUESTION)
    write_lines(tmp_path / "data/test.jsonl", QUESTION | {"question": "How few?"})
    found = findings(tmp_path, text)["task.path"]
    assert found.kind == "here" and "1 of `train`, 1 of `test`, none in both" in found.what
    write_lines(tmp_path / "data/test.jsonl", QUESTION)
    found = findings(tmp_path, text)["task.path"]
    assert found.kind == "wrong" and "both learnt from and evaluated" in found.what
    write_lines(tmp_path / "data/test.jsonl", {"question": "?"})
    found = findings(tmp_path, text)["task.path"]
    assert found.kind == "wrong" and "test.jsonl:1" in found.what


def test_the_evolution_of_a_task_is_read_as_the_stage_reads_it(tmp_path: Path) -> None:
    """What the stage refuses, the check refuses: too few questions, a question in both splits."""
    text = (
        f"run: {{stages: [evolve]}}\ntask: {{dataset: gsm8k, path: {tmp_path}/data}}\n"
        "evolution: {questions: task, minibatch_size: 1, validation_size: 1, test_size: 1}\n"
    )
    assert findings(tmp_path, text)["task.path"].kind == "absent"
    train = [QUESTION, *(QUESTION | {"question": f"How many more than {n}?"} for n in range(4))]
    write_lines(tmp_path / "data/train.jsonl", *train)
    write_lines(tmp_path / "data/test.jsonl", QUESTION | {"question": "How few?"})
    found = findings(tmp_path, text.replace("validation_size: 1", "validation_size: 2"))["task.path"]
    assert found.kind == "here"
    assert found.what.endswith(": 6 questions, 3 to draw from, 2 for validation, 1 for the test")
    few = findings(tmp_path, text, "evolution.test_size=2")["evolution.test_size"]
    assert few.kind == "wrong" and "at most the 1 questions of task.eval_split `test`" in few.what
    write_lines(tmp_path / "data/test.jsonl", QUESTION)
    assert findings(tmp_path, text)["task.path"].kind == "wrong"


def test_what_the_evolution_lacks_has_two_ways_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key, or the offline kind by its setting; a server, or the model in the worker."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    found = findings(tmp_path, "run: {stages: [evolve]}\n")
    for role, offline in (("judge", "auto"), ("reflector", "statistical")):
        lacking = found[f"evolution.{role}.openai.api_key_env"]
        assert lacking.kind == "absent"
        assert (
            lacking.hint == f"export OPENAI_API_KEY=… before the run; or `evolution.{role}.kind: {offline}`"
        )
    assert found["evolution.server.command"].kind == "absent"
    assert found["evolution.server.command"].hint.endswith("or `evolution.server.kind: in_process`")


def test_financebench(tmp_path: Path) -> None:
    path = tmp_path / "f.jsonl"
    text = f"run: {{stages: [evolve]}}\nevolution: {{financebench: {path}, minibatch_size: 1, validation_size: 1, "
    text += "test_size: 50, judge: {kind: numeric}}\n"
    assert findings(tmp_path, text)["evolution.financebench"].kind == "absent"
    write_lines(path, *(LINE | {"financebench_id": name} for name in "abc"))
    few = findings(tmp_path, text)["evolution.validation_size, evolution.test_size"]
    assert few.kind == "wrong" and "at most the 3 questions" in few.what
    found = findings(tmp_path, text, "evolution.test_size=1")["evolution.financebench"]
    assert found.kind == "here" and "3 questions" in found.what
    write_lines(
        path, *(LINE | {"financebench_id": name, "answer": "a long walk by the sea"} for name in "abc")
    )
    one = "evolution.test_size=1"
    assert "cannot tell" in findings(tmp_path, text, one)["evolution.judge"].what
    assert findings(tmp_path, text, one)["evolution.judge"].kind == "wrong"
    write_lines(path, *(LINE | {"financebench_id": name} for name in "abc"))
    assert (
        findings(tmp_path, text, "evolution.financebench=hub:me/fb")["evolution.financebench"].kind
        == "absent"
    )
    wrong = findings(tmp_path, text, "evolution.financebench='hub:fb'")["evolution.financebench"]
    assert wrong.kind == "wrong" and "hub:fb" in wrong.what


def test_graphs_and_scores(tmp_path: Path) -> None:
    text = (
        "run: {stages: [graphs, retriever]}\n"
        f"graphs: {{dataset: rog, path: {tmp_path}/rog, embedder: hashed}}\nretriever: {{scores: {tmp_path}/s.pth}}\n"
    )
    assert kinds(findings(tmp_path, text)) == {
        "run.stages": "here", "graphs.embedder": "here", "graphs.path": "absent", "retriever.scores": "absent",
    }  # fmt: skip
    (tmp_path / "rog").mkdir()
    found = findings(tmp_path, text)["graphs.path"]
    assert found.kind == "wrong" and "no file of the split `train`" in found.what
    assert findings(tmp_path, text, "graphs.path=null")["graphs.path"].kind == "wrong"


@pytest.mark.parametrize(
    ("stage", "looks_at"),
    [
        ("mine", {"_task"}), ("select", set()), ("memory", set()), ("eval", {"_task", "_vectors"}),
        ("clusters", {"_clusters"}), ("evolve", {"_evolution"}), ("graphs", {"_graphs"}), ("retriever", {"_scores"}),
        ("gflownet", set()), ("answer", set()), ("slsm", {"_dialogues"}), ("pool", {"_pool"}), ("selector", {"_pool"}),
    ],
)  # fmt: skip
def test_the_data_of_each_stage_is_looked_at(stage: str, looks_at: set[str]) -> None:
    assert {check.__name__ for stages, check in data._CHECKS if stage in stages} == looks_at


def test_dialogues(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    text = f"run: {{stages: [slsm]}}\nslsm: {{data: {{path: {path}}}}}\n"
    assert findings(tmp_path, text)["slsm.data.path"].kind == "absent"
    write_lines(path, {"messages": [{"role": "user", "content": "Hi"}]})
    assert "1 conversations" in findings(tmp_path, text)["slsm.data.path"].what
    write_lines(path, *[{"messages": [{"role": "user", "content": "Hi"}]}] * 3)
    found = findings(tmp_path, text, "slsm.data.conversations=2")["slsm.data.path"].what
    assert found == f"{path}: 2 conversations, 1 left out (slsm.data.conversations)"
    asked = ("Is the answer kind?", 'Does the answer contain the word "Rex"?')
    write_lines(path, *(
        {
            "QUESTION_ID": question, "AXIS": "INFERENCE_MEMORY", "TARGET_QUESTION": question, "PASS_CRITERIA": "YES",
            "CONVERSATION": [{"role": "user", "content": "Hi"}],
        }
        for question in asked
    ))  # fmt: skip
    found = findings(tmp_path, text, "slsm.judge.kind=exact")["slsm.judge.kind"]
    assert found.kind == "here"
    assert found.what == "the exact judge cannot judge 1 of them: they are answered, not scored"
    assert "slsm.judge.kind" not in findings(tmp_path, text, "slsm.judge.kind=none")
    write_lines(path, {"messages": []})
    found = findings(tmp_path, text)["slsm.data.path"]
    assert found.kind == "wrong" and ":1" in found.what


def test_pool_files_are_read_together(tmp_path: Path) -> None:
    files = write_folder(tmp_path)
    files["demonstrations"]["images"] = str(tmp_path / "{image_id}.jpg")
    pool = {"dataset": "files", "files": files, "rl_data": write_rl(tmp_path), "vqa": {"kind": "openai"}}
    text = f"run: {{stages: [pool]}}\npool: {json.dumps(pool)}\n"
    found = findings(tmp_path, text)
    assert set(found) == {
        "run.stages", "pool.vqa.openai.api_key_env", "pool.rl_data", "pool.files", "pool.files.demonstrations.images",
        *(f"pool.files.{name}.{file}" for name in ("demonstrations", "queries", "heldout")
          for file in ("questions", "annotations", "embeddings")),
    }  # fmt: skip
    images = found["pool.files.demonstrations.images"]
    assert (images.what, images.hint) == (f"there is no image {tmp_path}/1000.jpg", "unpack the images there")
    assert found["pool.files"].what == "6 train, 2 heldout"
    assert found["pool.rl_data"].what == "6 queries, 6 of them to train on"
    assert images.kind == "absent"
    np.save(tmp_path / "queries.npy", np.zeros((6, 5), np.float32))
    wrong = findings(tmp_path, text)["pool.files"]
    assert wrong.kind == "wrong" and "5 and of 6 dimensions" in wrong.what
    (tmp_path / "heldout.npy").unlink()
    absent = kinds(findings(tmp_path, text))
    assert absent["pool.files.heldout.embeddings"] == "absent" and "pool.files" not in absent


@pytest.mark.parametrize("named", [True, False])
def test_the_digits_rl_data_has_one_finding_where_it_is_named(tmp_path: Path, named: bool) -> None:
    path = tmp_path / "rl.json"
    text = f"run: {{stages: [pool]}}\npool: {{rl_data: {path if named else 'null'}}}\n"
    found = [(kind, what) for kind, where, what, _ in all_of(tmp_path, text) if where == "pool.rl_data"]
    assert found == ([("absent", f"{path} is not here")] if named else [])


def test_rl_data_that_can_train_nothing_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of its queries fall into the share that is held out, or are not among the questions."""
    monkeypatch.setattr(PoolFilesSection, "heldout_share", 1.0)
    files = {"demonstrations": write_folder(tmp_path)["demonstrations"]}
    rl_data = tmp_path / "rl.json"
    pool = {"dataset": "files", "files": files, "rl_data": str(rl_data), "vqa": {"kind": "openai"}}
    text = f"run: {{stages: [pool]}}\npool: {json.dumps(pool)}\n"
    one = {"candidate_pool_indices": [0, 1], "pointer_candidates": []}
    rl_data.write_text(json.dumps({"1000": one, "1001": one, "7": one}))
    wrong = findings(tmp_path, text)["pool.rl_data"]
    assert wrong.kind == "wrong" and "of 3, 2 are held out and 1 are not among the questions" in wrong.what
    monkeypatch.setattr(PoolFilesSection, "heldout_share", 0.0)
    assert kinds(findings(tmp_path, text))["pool.rl_data"] == "here"
    rl_data.write_text(json.dumps({"7": one}))
    digits = f"run: {{stages: [pool]}}\npool: {{rl_data: {rl_data}}}\n"
    assert kinds(findings(tmp_path, digits))["pool.rl_data"] == "wrong"
    rl_data.write_text(json.dumps({"train-0000": one, "heldout-0000": one, "heldout-0001": one}))
    assert findings(tmp_path, digits)["pool.rl_data"].what == "3 queries, 1 of them to train on"


@pytest.mark.parametrize(
    ("finding", "stops"),
    [
        (Finding("here", "x", "y"), False),
        (Finding("absent", "x", "y", fetched=True), False),
        (Finding("absent", "x", "y"), True),
        (Finding("wrong", "x", "y"), True),
    ],
)
def test_what_comes_by_itself_stops_no_stage(finding: Finding, stops: bool) -> None:
    assert finding.stops is stops


@pytest.mark.parametrize(
    ("field", "stage"),
    [
        ("slsm.controller.kind", "slsm"), ("slsm.judge.kind", "slsm"), ("evolution.judge.kind", "evolve"),
        ("evolution.reflector.kind", "evolve"), ("answer.reader", "answer"),
    ],
)  # fmt: skip
def test_a_class_of_ones_own_that_cannot_be_imported_is_wrong(tmp_path: Path, field: str, stage: str) -> None:
    """Where its stage is run."""
    found = findings(tmp_path, f"run: {{stages: [{stage}]}}", f"{field}=no_such_module:Own")
    wrong = [where for where, one in found.items() if "no_such_module" in one.what]
    assert wrong == [field] and found[field].kind == "wrong"
    assert field not in findings(tmp_path, "run: {stages: [pool]}", f"{field}=no_such_module:Own")


def test_answers_in_a_file_are_held_against_the_conversations(tmp_path: Path) -> None:
    questions, answers = tmp_path / "q.jsonl", tmp_path / "a.jsonl"
    write_lines(questions, {"id": "one", "messages": [{"role": "user", "content": "Hi"}]})
    text = (
        f"run: {{stages: [slsm]}}\nslsm: {{compare: [baseline], data: {{path: {questions}}}, "
        f"answers: {{kind: file, path: {answers}}}}}\n"
    )
    assert findings(tmp_path, text)["slsm.answers.path"].kind == "absent"
    write_lines(answers, {"id": "two", "answer": "Hello"})
    found = findings(tmp_path, text)["slsm.answers.path"]
    assert found.kind == "wrong" and "no answer to 1 of 1 conversations" in found.what
    write_lines(answers, {"id": "one", "answer": "Hello"})
    keys = [("absent", f"slsm.{part}.openai.api_key_env") for part in ("controller", "judge")]
    assert [one for one in all_of(tmp_path, text) if one[:2] not in keys] == [
        ("here", "slsm.data.path", f"{questions}: 1 conversations", ""),
        ("here", "slsm.answers.path", f"{answers}: an answer to each conversation", ""),
    ]


@pytest.mark.parametrize(
    ("stages", "changes", "models"),
    [
        (["mine"], {}, {"model": "m"}), (["eval"], {}, {"model": "m"}), (["graphs", "pool", "selector"], {}, {}),
        (["clusters"], {}, {"model": "m"}), (["evolve"], {"evolution.model.path": "e"}, {"evolution.model": "e"}),
        (["slsm"], {}, {"model": "m"}), (["slsm"], {"slsm.answers.kind": "openai"}, {}),
        (["slsm"], {"slsm.model.path": "s"}, {"slsm.model": "s"}),
        (["answer"], {}, {}), (["answer"], {"answer.reader": "model"}, {"model": "m"}),
        (["mine", "answer"], {"answer.reader": "model", "answer.model.path": "a"}, {"model": "m", "answer.model": "a"}),
    ],
)  # fmt: skip
def test_which_models_the_stages_load(
    stages: list[str], changes: dict[str, str], models: dict[str, str]
) -> None:
    settings: dict[str, Any] = {"run": {"stages": stages}, "model": {"path": "m"}}
    for name, value in changes.items():
        *sections, field = name.split(".")
        inner = settings
        for section in sections:
            inner = inner.setdefault(section, {})
        inner[field] = value
    found = models_of(Config.model_validate(settings))
    assert {where: section.path for where, section in found.items()} == models
