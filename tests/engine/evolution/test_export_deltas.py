"""Deltas in the forms of servers: each is applied, and does what the deltas do."""

from __future__ import annotations

import importlib.util
import json
import sys
import types
from abc import ABC, abstractmethod
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import SequenceBiasLogitsProcessor

from app.cli import main
from engine.config.models.model import ModelSection
from engine.errors import DataError
from engine.evolution import layout
from engine.evolution.clusters.cluster_map import NO_CLUSTER, ClusterMap, save_cluster_map
from engine.evolution.deltas import write_deltas
from engine.evolution.processor import expected_row, load_logits_processor, processor_source
from engine.evolution.processors import export_deltas as exports
from engine.evolution.processors.export_deltas import Bias, logit_bias
from engine.lm.loading.load import EMBEDDED, load_model
from engine.lm.protocol import Request, Sampling
from engine.lm.transformers.model import TransformersModel
from engine.lm.vocabulary import load_vocabulary
from engine.run.directory import RunDirectory, RunRecord

DELTAS = {"0": 1.5, "1": -0.35, "2": 0.75, "3": -3.0}


@pytest.fixture(scope="module")
def clusters() -> ClusterMap:
    """Of the arithmetic model; most tokens are in cluster 2."""
    vocabulary = load_vocabulary(ModelSection(backend="transformers", path=str(EMBEDDED)))
    ids = np.random.default_rng(0).choice(4, len(vocabulary), p=[0.1, 0.1, 0.6, 0.2]).astype(np.uint8)
    ids[vocabulary.padding] = NO_CLUSTER
    return ClusterMap(ids, 4, vocabulary.fingerprint)


@pytest.fixture
def run(tmp_path: Path, clusters: ClusterMap) -> Path:
    folder = layout.folder(tmp_path)
    folder.mkdir()
    save_cluster_map(clusters, folder)
    write_deltas(layout.deltas_best(tmp_path), DELTAS)
    layout.processor_best(tmp_path).write_text(processor_source(clusters, DELTAS))
    about: dict[str, Any] = {
        "created": 0.0,
        "updated": 0.0,
        "seeds": {},
        "stages": {},
        "versions": {},
        "config": {},
    }
    RunDirectory(tmp_path).write(RunRecord(name="shorter", run_id="1", **about))
    return tmp_path


def _exported(run: Path, form: str, *more: str) -> Path:
    out = run / f"out_{form}{'.json' if form == 'logit-bias' else '.py'}"
    assert main(["export", "deltas", str(run), "--format", form, "--out", str(out), *more]) == 0
    return out


def _answers(model: TransformersModel, processor: Any) -> list[list[int]]:
    prompts = [
        model.tokenizer.encode_chat(f"Ada has {n} cups. Then Ada takes 3. How many cups?") for n in (4, 9, 17)
    ]
    requests = [
        Request(prompt, Sampling(40, temperature), seed=number)
        for number, prompt in enumerate(prompts)
        for temperature in (0.0, 1.0)
    ]
    return [done.tokens for done in model.generate(requests, logits_processor=processor)]


@pytest.fixture(scope="module")
def model() -> TransformersModel:
    loaded = load_model(ModelSection(device="cpu"))
    assert isinstance(loaded, TransformersModel)
    return loaded


def test_a_logit_bias_gives_the_tokens_that_the_deltas_give(run: Path, model: TransformersModel) -> None:
    """Greedy and sampled; the bias is applied by transformers' own processor."""
    text = _exported(run, "logit-bias").read_text()
    bias = json.loads(text)["logit_bias"]
    assert text.startswith('{\n "logit_bias": {\n  "') and text.endswith("\n }\n}\n")
    assert 0 < len(bias) <= 300
    biases: Any = {(int(token),): value for token, value in bias.items()}
    theirs: Any = SequenceBiasLogitsProcessor(biases)
    biased = _answers(
        model, lambda written, logits: theirs(torch.zeros(len(logits), 1, dtype=torch.long), logits)
    )
    ours = _answers(model, load_logits_processor(layout.processor_best(run)))
    assert biased == ours
    assert ours != _answers(model, None)


def test_more_biases_than_a_server_takes_are_refused(
    run: Path, clusters: ClusterMap, capsys: pytest.CaptureFixture[str]
) -> None:
    needs = len(logit_bias(clusters, DELTAS).values)
    out = run / "few.json"
    export = ["export", "deltas", str(run), "--format", "logit-bias", "--out", str(out), "--limit"]
    assert main([*export, str(needs - 1)]) == 2 and not out.exists()
    assert (
        f"{needs} tokens need a bias (--format logit-bias, at most {needs - 1} entries): say --limit 0 for a server "
        "that takes any number, or --format vllm"
    ) in " ".join(capsys.readouterr().err.split())
    for limit in (needs, 0):
        assert main([*export, str(limit)]) == 0
        assert len(json.loads(out.read_text())["logit_bias"]) == needs


def test_a_server_takes_three_hundred_biases(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As OpenAI's do."""
    monkeypatch.setattr(
        exports, "logit_bias", lambda clusters, deltas: Bias(dict.fromkeys(range(many), 1.0), 0.0)
    )
    for many in (300, 301):
        with nullcontext() if many == 300 else pytest.raises(DataError, match="301 tokens need a bias"):
            exported = exports.export_deltas(RunDirectory(run), "logit-bias", run / "bias.json")
            assert exported.bias is not None and len(exported.bias.values) == 300


@pytest.mark.parametrize("form", ["logit-bias", "vllm"])
def test_what_was_exported_is_told(run: Path, form: exports.Form) -> None:
    exported = exports.export_deltas(RunDirectory(run), form, run / "out", 0)
    assert (exported.path, exported.deltas) == (run / "out", DELTAS) and exported.path.exists()
    assert (exported.bias is None) == (form == "vllm")


def test_the_delta_of_most_tokens_needs_no_bias() -> None:
    ids = np.array([0, 1, 2, 2, 2, NO_CLUSTER], dtype=np.uint8)
    bias = logit_bias(ClusterMap(ids, 3, ""), {"0": 100.0, "1": -2.0, "2": -90.0})
    assert bias.values == {0: 190.0, 1: 88.0} and bias.shift == -90.0
    assert logit_bias(ClusterMap(ids, 3, ""), {"0": 0.0, "1": 0.0, "2": 0.0}).values == {}
    fine = logit_bias(ClusterMap(ids, 3, ""), {"0": 0.1234567, "1": -2.00000049, "2": 0.0})
    assert fine.values == {0: 0.123457, 1: -2.0} and fine.shift == 0
    as_many = logit_bias(ClusterMap(np.array([0, 0, 1, 1], dtype=np.uint8), 2, ""), {"0": 3.0, "1": 0.0})
    assert as_many.values == {0: 3.0, 1: 3.0} and as_many.shift == 0, "of two that as many get, it is 0"
    alike = ClusterMap(np.array([0, 0, 1, 1, 2, 2, 2], dtype=np.uint8), 3, "")
    shared = logit_bias(alike, {"0": 3.0, "1": 3.0, "2": 1.0})
    assert shared.shift == 3.0 and set(shared.values) == {4, 5, 6}, "two clusters of 2 tokens count together"


def test_vllm_loads_the_file_and_its_class_adds_the_deltas(
    run: Path, clusters: ClusterMap, model: TransformersModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against an abstract base class with vLLM's methods."""

    class Interface(ABC):
        @abstractmethod
        def __init__(self, vllm_config: Any, device: Any, is_pin_memory: bool) -> None: ...
        @abstractmethod
        def apply(self, logits: torch.Tensor) -> torch.Tensor: ...
        @abstractmethod
        def is_argmax_invariant(self) -> bool: ...
        @abstractmethod
        def update_state(self, batch_update: Any) -> None: ...

    for name in ("vllm", "vllm.v1", "vllm.v1.sample", "vllm.v1.sample.logits_processor"):
        module = types.ModuleType(name)
        module.__spec__ = importlib.util.spec_from_loader(name, None)
        monkeypatch.setitem(sys.modules, name, module)
    sys.modules["vllm.v1.sample.logits_processor"].LogitsProcessor = Interface  # type: ignore[attr-defined]
    spec = importlib.util.spec_from_file_location("exported_for_vllm", _exported(run, "vllm"))
    assert spec is not None and spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    loaded.ClusterDeltaVLLMProcessor.validate_params(None)  # asked of the class, before there is one
    processor: Any = loaded.ClusterDeltaVLLMProcessor(None, torch.device("cpu"), False)
    assert issubclass(loaded.ClusterDeltaVLLMProcessor, Interface) and not processor.is_argmax_invariant()
    processor.update_state(None)
    added = processor.apply(torch.zeros(2, clusters.vocab_size)).numpy()
    np.testing.assert_array_equal(added, np.stack([expected_row(clusters, DELTAS)] * 2))
    few = processor.apply(torch.zeros(2, 3, dtype=torch.bfloat16))
    assert torch.equal(few, torch.from_numpy(added[:, :3]).to(torch.bfloat16))
    assert _answers(model, lambda written, logits: processor.apply(logits)) == _answers(
        model, load_logits_processor(layout.processor_best(run))
    )


def test_a_run_without_deltas_is_refused(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["export", "deltas", str(run), "--format", "vllm", "--out", str(run / "p.py")]
    layout.deltas_best(run).unlink()
    assert main(arguments) == 2
    assert "run the stage `evolve`" in capsys.readouterr().err.replace("\n", " ")
