"""What the stage measures on held-out questions: with the trained sampler's own prior; nothing is tuned on them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from engine.config.config import Config
from engine.events import Event, SamplerEvaluated
from engine.gflownet import layout
from engine.gflownet.evaluation.evaluator import STOP_SCORES, Evaluation, Evaluator
from engine.gflownet.evaluation.questions import QuestionBatches, load_questions
from engine.gflownet.graphs.tables import EmbeddingTables
from engine.gflownet.sampler.actor import Sampling
from engine.gflownet.sampler.counter_noise import rollout_seeds
from engine.gflownet.sampler.module import GFlowNetModule
from engine.torch_file import load_torch
from tests.engine.gflownet.small_run import run_stages, small_config

STEPS, ALPHA = 10, 1.25
"""Of the prior's weight, halfway from 2 to 0.5."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    run_stages(folder, ("graphs", "retriever", "agent-graphs"))
    return folder


@pytest.fixture(scope="module")
def config() -> Config:
    return small_config(gflownet={"steps": STEPS, "actor": {"retriever_prior_anneal_steps": 2 * STEPS}})


@pytest.fixture(scope="module")
def calls() -> list[tuple[str, float]]:
    """Filled while the stage runs: the split on which the prior was measured, and with which score of STOP."""
    return []


@pytest.fixture(scope="module")
def measured(folder: Path, config: Config, calls: list[tuple[str, float]]) -> list[Event]:
    by_count = {}
    for split in ("validation", "test"):
        by_count[len(questions(folder, split, config)[0])] = split
    assert len(by_count) == 2, "the splits are told apart by their sizes"
    prior: Callable[[Evaluator, float], Evaluation] = Evaluator.prior

    def spied(self: Evaluator, stop_score: float) -> Evaluation:
        calls.append((by_count[len(self.questions)], stop_score))
        return prior(self, stop_score)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Evaluator, "prior", spied)
        return run_stages(folder, ("gflownet",), config)


def questions(folder: Path, split: str, config: Config) -> tuple[QuestionBatches, GFlowNetModule]:
    tables = EmbeddingTables.load(folder)
    module = GFlowNetModule(tables.width, config.gflownet)
    return load_questions(folder, split, tables, module), module


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
    test, module = questions(folder, "test", config)
    module.load_state_dict(load_torch(layout.checkpoint(folder), "")["module"])
    module.eval()
    each = 1 if method == "greedy" else config.gflownet.num_eval_rollouts

    def drawn(alpha: float) -> list[float]:
        log_pf: list[float] = []
        sampling = Sampling(prior_alpha=alpha, greedy=method == "greedy")
        for number in range(len(test)):
            batch, names = test.batch([number])
            with torch.no_grad():
                seeds = rollout_seeds(config.run.seed, "evaluate", names, each)
                log_pf += module.sample(batch, module.embedder(batch), seeds, sampling)[0].log_pf.tolist()
        return log_pf

    shown = [log_pf for log_pf, _ in event_of(measured, method).scatter]
    assert shown == pytest.approx(drawn(ALPHA), abs=1e-4)
    assert shown != pytest.approx(drawn(2.0), abs=1e-2) and shown != pytest.approx(drawn(0.0), abs=1e-2)


def test_the_priors_score_of_stop_is_chosen_on_validation_alone(
    folder: Path, config: Config, measured: list[Event], calls: list[tuple[str, float]]
):
    assert {score for split, score in calls if split == "validation"} == set(STOP_SCORES)
    (used,) = (score for split, score in calls if split == "test")
    validation, module = questions(folder, "validation", config)
    recall = f"answer_recall_union@{config.gflownet.num_eval_rollouts}"
    evaluator = Evaluator(module, validation, config.run.seed, lambda: None)
    assert used == max(STOP_SCORES, key=lambda score: evaluator.prior(score).means()[recall])
    test, _ = questions(folder, "test", config)
    again = Evaluator(module, test, config.run.seed, lambda: None).prior(used).means()
    assert again[recall] == event_of(measured, "prior").metrics[recall]
