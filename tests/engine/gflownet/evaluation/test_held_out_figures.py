"""What the stage measures on held-out questions: with the trained sampler's own prior; nothing is tuned on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

from engine.config.config import Config
from engine.events import Event, QuestionSampled, SamplerEvaluated
from engine.gflownet.evaluation.evaluator import (
    EDGE_BONUSES,
    STOP_SCORES,
    TEMPERATURES,
    Evaluation,
    Evaluator,
    best_setting,
)
from engine.gflownet.evaluation.questions import QuestionBatches, load_questions
from engine.gflownet.graphs.tables import EmbeddingTables
from engine.gflownet.sampler.actor import Sampling
from engine.gflownet.sampler.counter_noise import rollout_seeds
from engine.gflownet.sampler.distinct_paths import distinct_paths
from engine.gflownet.sampler.graph_batch import GraphBatch
from engine.gflownet.sampler.module import GFlowNetModule
from engine.gflownet.training.trained_sampler import trained_sampler
from tests.engine.gflownet.small_run import run_stages, small_config

STEPS, ALPHA = 10, 1.25
"""Halfway from the prior's weight at first, 2, to that at last, 0.5."""
TUNED = {"distinct": TEMPERATURES, "beam": EDGE_BONUSES, "prior": STOP_SCORES}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    run_stages(folder, ("graphs", "retriever", "agent-graphs"))
    return folder


@pytest.fixture(scope="module")
def config() -> Config:
    features = {
        "token_features": ["scores", "structure"]
    }  # ours: greedy walks are then longer with the prior
    actor = {"retriever_prior_anneal_steps": 2 * STEPS}
    return small_config(gflownet={"steps": STEPS, "actor": actor, **features})


@dataclass(frozen=True)
class Call:
    """A method that was measured: on which split, with which setting, and the weight of the prior if it has one."""

    method: str
    split: str
    setting: float
    alpha: float | None


@pytest.fixture(scope="module")
def calls() -> list[Call]:
    """Filled while the stage runs."""
    return []


@pytest.fixture(scope="module")
def measured(folder: Path, config: Config, calls: list[Call]) -> list[Event]:
    split_of = {
        len(questions(folder, split, config)[0]): split for split in ("validation", "test")
    }  # told apart by their sizes
    assert len(split_of) == 2

    def spied(name: str) -> Callable[..., Evaluation]:
        method = getattr(Evaluator, name)

        def measuring(self: Evaluator, *given: float, **named: bool) -> Evaluation:
            alpha = given[0] if len(given) == 2 else None
            calls.append(Call(name, split_of[len(self.questions)], given[-1], alpha))
            return method(self, *given, **named)

        return measuring

    with pytest.MonkeyPatch.context() as patch:
        for name in TUNED:
            patch.setattr(Evaluator, name, spied(name))
        return run_stages(folder, ("gflownet",), config)


def questions(folder: Path, split: str, config: Config) -> tuple[QuestionBatches, GFlowNetModule]:
    tables = EmbeddingTables.load(folder)
    module = GFlowNetModule(tables.width, config.gflownet)
    return load_questions(folder, split, tables, module), module


@pytest.mark.parametrize("mode", ["uniform", "learned"])
def test_a_learned_backward_policy_is_given_all_edges_that_reach_a_walk(
    folder: Path, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def cut(batch: GraphBatch, steps: int, look_ahead: int, backward: bool) -> GraphBatch:
        asked.append((steps, look_ahead, backward))
        return batch

    monkeypatch.setattr("engine.gflownet.evaluation.questions.walkable", cut)
    config = small_config(gflownet={"estimator": {"log_pb_mode": mode}, "environment": {"max_steps": 2}})
    test, module = questions(folder, "test", config)
    test.batch([0])
    assert asked == [(2, module.policy.look_ahead, mode == "learned")]


def event_of(events: list[Event], method: str) -> SamplerEvaluated:
    (found,) = (
        event
        for event in events
        if isinstance(event, SamplerEvaluated) and (event.method, event.split) == (method, "test")
    )
    return found


@pytest.mark.parametrize("method", ["gflownet", "greedy"])
def test_held_out_paths_are_drawn_with_the_weight_of_the_prior_at_the_end_of_training(
    folder: Path, config: Config, measured: list[Event], method: str
):
    """Against roll-outs made here, question by question."""
    module, step = trained_sampler(folder, config)
    assert step == STEPS
    test = load_questions(folder, "test", EmbeddingTables.load(folder), module)
    module.eval()
    each = 1 if method == "greedy" else config.gflownet.num_eval_rollouts

    def mean_length(alpha: float) -> float:
        lengths = []
        sampling = Sampling(prior_alpha=alpha, greedy=method == "greedy")
        for number in range(len(test)):
            batch, names = test.batch([number])
            with torch.no_grad():
                seeds = rollout_seeds(config.run.seed, "evaluate", names, each)
                walks = module.sample(batch, module.embedder(batch), seeds, sampling)[0].walks
            lengths.append(float(walks.length.double().mean()))
        return sum(lengths) / len(lengths)

    shown = event_of(measured, method).metrics["length_mean"]
    assert shown == pytest.approx(mean_length(ALPHA), abs=1e-6)
    assert shown != pytest.approx(mean_length(0.0), abs=1e-3)
    assert shown != pytest.approx(mean_length(2.0), abs=1e-3)


def test_distinct_paths_are_drawn_with_that_weight_too(folder: Path, config: Config, measured: list[Event]):
    module, step = trained_sampler(folder, config)
    assert step == STEPS
    test = load_questions(folder, "test", EmbeddingTables.load(folder), module)
    module.eval()
    event = event_of(measured, "distinct")

    def mean_length(alpha: float) -> float:
        lengths = []
        sampling = Sampling(event.settings["temperature"], alpha)
        for number in range(len(test)):
            batch, names = test.batch([number])
            with torch.no_grad():
                tokens = module.embedder(batch)
                seeds = rollout_seeds(config.run.seed, "distinct", names, 1)
                drawn = distinct_paths(module.actor, batch, tokens, event.k, sampling, seeds)
            lengths.append(float(drawn.walks.length.double().mean()))
        return sum(lengths) / len(lengths)

    shown = event.metrics["length_mean"]
    assert shown == pytest.approx(mean_length(ALPHA), abs=1e-6)
    assert shown != pytest.approx(mean_length(0.0), abs=1e-3)
    assert shown != pytest.approx(mean_length(2.0), abs=1e-3)


@pytest.mark.parametrize("method", TUNED)
def test_settings_are_chosen_on_validation_alone(
    folder: Path, config: Config, measured: list[Event], calls: list[Call], method: str
):
    """STOP's score of the prior, the beam's bonus, the temperature: on the held-out questions one is measured."""
    settings = TUNED[method]
    own = [call for call in calls if call.method == method]
    assert [call.setting for call in own if call.split == "validation"] == list(settings)
    (used,) = (call.setting for call in own if call.split == "test")
    assert list(event_of(measured, method).settings.values()) == [used]
    if method == "distinct":
        assert {call.alpha for call in own} == {ALPHA}
        return
    validation, module = questions(folder, "validation", config)
    evaluator = Evaluator(module, validation, config.run.seed, lambda: None)
    recall = f"answer_recall_union@{config.gflownet.num_eval_rollouts}"
    assert used == best_setting(getattr(evaluator, method), settings, recall)


def test_the_paths_that_are_shown_and_read_are_drawn_with_the_same_weight_of_the_prior(measured: list[Event]):
    weights = {event.prior_alpha for event in measured if isinstance(event, QuestionSampled)}
    assert weights == {ALPHA}
