"""The KL to the unsteered model on unrelated questions."""

from __future__ import annotations

import math
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from engine.config.config import Config
from engine.config.file import load_config
from engine.esm import layout
from engine.esm.evaluation.eval_stage import Evaluate
from engine.esm.evaluation.side_effects import SideEffects, _kl, _log_probabilities, mean_kl
from engine.esm.evaluation.unrelated import UNRELATED
from engine.esm.library.memory import Entry, EpisodicMemory
from engine.esm.online.control_point import Answer
from engine.events import DecisionTaken, Event
from engine.files import read_jsonl
from engine.lm.protocol import Request, Sampling, Steer
from engine.lm.transformers.model import TransformersModel
from engine.run.stage import StageResult
from engine.scale.work import WorkContext
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


def test_the_divergence_is_of_the_steered_model_from_the_unsteered_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two tokens, by hand: sum of p log(p / q), p steered."""
    p, q = np.array([[0.5, 0.5], [0.9, 0.1]]), np.array([[0.25, 0.75], [0.5, 0.5]])

    def given(model: object, prefix: object, segment: object, steer: Steer | None) -> np.ndarray:
        return np.log(q if steer is None else p)

    monkeypatch.setattr("engine.esm.evaluation.side_effects._log_probabilities", given)
    wanted = sum(a * math.log(a / b) for a, b in zip(p.ravel(), q.ravel(), strict=True))
    steer, none = Steer(np.ones(2, dtype=np.float32), 0, 1.0), cast("TransformersModel", None)
    assert _kl(none, [1], [2, 3], steer) == pytest.approx(wanted)


def test_each_steered_segment_is_measured_behind_what_stands_before_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An answer of a plain, a steered, a plain, another steered segment, and a tail."""
    vectors = [np.full(2, value, dtype=np.float32) for value in (1, 2)]
    entries = [Entry(f"e{i}", i, 1, 1.0, vector, "x") for i, vector in enumerate(vectors)]
    memory = EpisodicMemory.of(entries, np.ones((2, 2), dtype=np.float32))
    decided = [(2, None, 0.0), (3, "e1", 2.5), (1, None, 0.0), (1, "e0", 0.5), (2, None, 0.0)]
    decisions = [
        DecisionTaken(
            method="esm", example="q", m=m, gate="x", committed_tokens=count, chosen=name, alpha=alpha,
            layer=None if name is None else int(name[1]),
        )
        for m, (count, name, alpha) in enumerate(decided, 1)
    ]  # fmt: skip
    answer = Answer("q", tokens=list(range(11, 20)), decisions=decisions)
    measured: list[tuple[list[int], list[int], int, float, float]] = []

    def kl(model: object, prefix: list[int], segment: list[int], steer: Steer) -> float:
        measured.append((prefix, segment, steer.layer, steer.scale, float(steer.vector[0])))
        return 0.25

    class Decided:
        def __init__(self, *given: object) -> None: ...

        def run(self, examples: list[str], prompts: list[list[int]]) -> list[Answer]:
            return [answer]

    monkeypatch.setattr("engine.esm.evaluation.side_effects.Controller", Decided)
    monkeypatch.setattr("engine.esm.evaluation.side_effects._kl", kl)
    tokenizer = SimpleNamespace(encode_chat=lambda text, system: [1, 2])
    context = SimpleNamespace(
        load_model=lambda section: SimpleNamespace(tokenizer=tokenizer), checkpoint=lambda: None
    )
    (line,) = SideEffects(Config(), memory).open(cast("WorkContext", context))(["q"])
    assert measured == [
        ([1, 2, 11, 12], [13, 14, 15], 1, 2.5, 2.0),
        ([1, 2, *range(11, 17)], [17], 0, 0.5, 1.0),
    ]
    assert line == {"question": "q", "tokens": 9, "steered": 4, "kl": 0.5}


def test_the_figure_is_over_all_tokens() -> None:
    lines = [{"kl": 3.0, "tokens": 10}, {"kl": 0.0, "tokens": 20}]
    assert mean_kl(lines) == pytest.approx(0.1)
