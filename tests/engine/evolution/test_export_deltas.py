"""Deltas in the forms of servers: each is applied, and does what the deltas do."""

from __future__ import annotations

import importlib.util
import json
import sys
import types
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import SequenceBiasLogitsProcessor

from app.cli import main
from engine.config.models.model import ModelSection
from engine.evolution import layout
from engine.evolution.clusters.cluster_map import NO_CLUSTER, ClusterMap, save_cluster_map
from engine.evolution.deltas import write_deltas
from engine.evolution.processor import expected_row, load_logits_processor, processor_source
from engine.evolution.processors.export_deltas import logit_bias
from engine.files import write_jsonl
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
    out = run / f"out_{form}{'.json' if form in ('logit-bias', 'sglang') else '.py'}"
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


def test_a_logit_bias_gives_the_tokens_that_the_deltas_give(
    run: Path, model: TransformersModel, capsys: pytest.CaptureFixture[str]
) -> None:
    """Greedy and sampled; the bias is applied by transformers' own processor."""
    bias = json.loads(_exported(run, "logit-bias", "--model", str(EMBEDDED)).read_text())["logit_bias"]
    assert "lost: nothing" in capsys.readouterr().out
    assert 0 < len(bias) <= 300 and all(-100 <= value <= 100 for value in bias.values())
    biases: Any = {(int(token),): value for token, value in bias.items()}
    theirs: Any = SequenceBiasLogitsProcessor(biases)
    biased = _answers(
        model, lambda written, logits: theirs(torch.zeros(len(logits), 1, dtype=torch.long), logits)
    )
    ours = _answers(model, load_logits_processor(layout.processor_best(run)))
    assert biased == ours
    assert ours != _answers(model, None)


def test_what_has_no_room_is_refused_or_told(
    run: Path, clusters: ClusterMap, capsys: pytest.CaptureFixture[str]
) -> None:
    needs = len(logit_bias(clusters, DELTAS, 0).values)
    out = run / "few.json"
    few = ["export", "deltas", str(run), "--format", "logit-bias", "--out", str(out), "--limit", "5"]
    assert main(few) == 2 and not out.exists()
    assert f"{needs - 5} of {needs} tokens that need a bias find no room" in capsys.readouterr().err.replace(
        "\n", " "
    )
    often = np.flatnonzero(clusters.ids == 3)[:2].tolist()
    write_jsonl(
        layout.token_frequency(run),
        [{"id": "a", "tokens": [*often * 4, *np.flatnonzero(clusters.ids == 2)[:2].tolist()]}],
    )
    assert main([*few, "--lossy"]) == 0
    assert set(map(str, often)) < set(json.loads(out.read_text())["logit_bias"])
    assert (
        f"the deltas of {needs - 5} tokens (0.0% of the tokens that were counted)" in capsys.readouterr().out
    )


def test_the_delta_of_most_tokens_needs_no_bias_and_limits_are_kept() -> None:
    ids = np.array([0, 1, 2, 2, 2, NO_CLUSTER], dtype=np.uint8)
    bias = logit_bias(ClusterMap(ids, 3, ""), {"0": 100.0, "1": -2.0, "2": -90.0})
    assert bias.values == {0: 100.0, 1: 88.0} and bias.shift == -90.0
    assert bias.cut == 1 and not bias.exact
    none = logit_bias(ClusterMap(ids, 3, ""), {"0": 0.0, "1": 0.0, "2": 0.0})
    assert none.values == {} and none.exact


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
    processor: Any = loaded.ClusterDeltaVLLMProcessor(None, torch.device("cpu"), False)
    assert issubclass(loaded.ClusterDeltaVLLMProcessor, Interface) and not processor.is_argmax_invariant()
    processor.validate_params(None)
    processor.update_state(None)
    added = processor.apply(torch.zeros(2, clusters.vocab_size)).numpy()
    np.testing.assert_array_equal(added, np.stack([expected_row(clusters, DELTAS)] * 2))
    assert _answers(model, lambda written, logits: processor.apply(logits)) == _answers(
        model, load_logits_processor(layout.processor_best(run))
    )


def test_the_other_forms_are_those_of_the_run(run: Path) -> None:
    assert _exported(run, "transformers").read_text() == layout.processor_best(run).read_text()
    sent = json.loads(_exported(run, "sglang").read_text())["custom_logit_processor"]
    assert "callable" in json.loads(sent)


def test_another_models_tokens_and_a_run_without_deltas_are_refused(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = str(EMBEDDED.parent / "statements")
    arguments = ["export", "deltas", str(run), "--format", "vllm", "--out", str(run / "p.py")]
    assert main([*arguments, "--model", other]) == 2
    assert "other tokens than the deltas were evolved with" in capsys.readouterr().err.replace("\n", " ")
    layout.deltas_best(run).unlink()
    assert main(arguments) == 2
    assert "run the stage `evolve`" in capsys.readouterr().err.replace("\n", " ")
