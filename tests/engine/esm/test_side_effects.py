"""The KL to the unsteered model on unrelated questions."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from engine.config.file import load_config
from engine.esm import layout
from engine.esm.eval_stage import Evaluate
from engine.esm.side_effects import _kl, _log_probabilities, mean_kl
from engine.esm.unrelated import UNRELATED
from engine.events import Event
from engine.files import read_jsonl
from engine.lm.protocol import Request, Sampling, Steer
from engine.lm.transformers.model import TransformersModel
from engine.run.stage import StageResult
from tests.kill_and_resume import DEMO
from tests.run_stage import run_stage
from tests.small_esm import SMALL


def vector(model: TransformersModel, size: float) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(model.info.hidden_size).astype(np.float32) * size


def test_the_distributions_are_those_that_the_model_writes_with(embedded: TransformersModel) -> None:
    model = embedded
    prefix = model.tokenizer.encode_chat(UNRELATED[0])
    for steer in (None, Steer(vector(model, 0.5), 2, 1.0)):
        written = model.generate([Request(prefix, Sampling(12), steer=steer)])[0]
        rows = _log_probabilities(model, prefix, written.tokens, steer)
        assert rows.shape == (len(written.tokens), model.info.vocab_size)
        np.testing.assert_allclose(np.exp(rows).sum(axis=1), 1, atol=1e-6)
        own = rows[np.arange(len(rows)), written.tokens]
        np.testing.assert_allclose(own, written.logprobs, atol=1e-3)


def test_no_steering_changes_nothing_and_more_changes_more(embedded: TransformersModel) -> None:
    model = embedded
    prefix = model.tokenizer.encode_chat(UNRELATED[1])
    segment = model.generate([Request(prefix, Sampling(6))])[0].tokens
    kls = [_kl(model, prefix, segment, Steer(vector(model, size), 2, 1.0)) for size in (0.0, 0.1, 1.0)]
    assert kls[0] < 1e-9 < kls[1] < kls[2]


def test_eval_measures_it_once(
    esm_run: tuple[Path, list[Event]], embedded: TransformersModel, tmp_path: Path
) -> None:
    for name in ("memory", "library"):
        shutil.copytree(esm_run[0] / "esm" / name, tmp_path / "esm" / name)
    changes = ["eval.side_effects=2", "eval.methods=[greedy, esm]", "eval.ablations=[]", "task.eval_size=1"]
    config = load_config(DEMO, [*SMALL, *changes])
    results: list[StageResult] = []
    run_stage(Evaluate(), config, tmp_path, embedded, results=results)
    path = layout.evaluation(tmp_path, "esm") / "side_effects.jsonl"
    lines = read_jsonl(path)
    assert [line["question"] for line in lines] == list(UNRELATED[:2])
    assert all(line["steered"] <= line["tokens"] and line["kl"] >= 0 for line in lines)
    assert results[0].summary["kl_per_token"] == mean_kl(lines)
    assert "esm/eval/esm/side_effects.jsonl" in results[0].files
    before = path.stat().st_mtime_ns
    run_stage(Evaluate(), config, tmp_path, embedded, results=results)
    assert path.stat().st_mtime_ns == before and results[1].summary == results[0].summary


def test_the_figure_is_over_all_tokens() -> None:
    lines = [{"kl": 3.0, "tokens": 10}, {"kl": 0.0, "tokens": 20}]
    assert mean_kl(lines) == pytest.approx(0.1)
