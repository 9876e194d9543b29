"""A step cut into parts: the same loss and gradient as whole, whoever computes which part."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from pydantic import ValidationError
from torch.nn.utils import parameters_to_vector

from engine.config.gflownet import GFlowNetSection
from engine.gflownet import layout
from engine.gflownet.agent_graphs.dataset import GAgentPyGDataset
from engine.gflownet.evaluation import questions as questions_module
from engine.gflownet.evaluation.questions import QuestionBatches
from engine.gflownet.graphs.tables import EmbeddingTables
from engine.gflownet.sampler.environment import enumerate_walks
from engine.gflownet.sampler.graph_batch import GraphBatch
from engine.gflownet.sampler.module import GFlowNetModule
from engine.gflownet.training.ranks import Alone
from engine.gflownet.training.step_worker import StepSums, StepWorker
from tests.engine.gflownet.small_run import run_stages, small_config


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    run_stages(folder, ("graphs", "retriever", "agent-graphs"))
    return folder


def worker(data: Path, parts: int, **changes: object) -> StepWorker:
    section = small_config(gflownet={"batch_size": 8, "gt_replay_ratio": 0.6, **changes}).gflownet
    tables = EmbeddingTables.load(data)
    torch.manual_seed(0)
    module = GFlowNetModule(tables.width, section).double()
    questions = DoubleQuestions(GAgentPyGDataset(layout.agent_graphs(data, "train")), tables, module)
    return StepWorker(module, questions, 0, Alone(torch.device("cpu")), parts)


def computed(data: Path, parts: int, step: int = 3, **changes: object) -> StepSums:
    work = worker(data, parts, **changes)
    return work.lead(step, parameters_to_vector(work.module.parameters()).detach())


class DoubleQuestions(QuestionBatches):
    """In float64, where what differs is not rounding."""

    def batch(self, numbers: Sequence[int]) -> tuple[GraphBatch, list[str]]:
        batch, names = super().batch(numbers)
        return batch.to("cpu", torch.float64), names


@pytest.mark.parametrize("mode", ["exact", "uniform", "learned"])
@pytest.mark.parametrize("parts", [2, 3, 8])
def test_loss_and_gradient_do_not_depend_on_the_cut(data: Path, mode: str, parts: int):
    """Every term is a mean over something else (walks, walks with an edge, nodes, taught paths): a mean of the parts'
    means would be another loss."""
    estimator = {"log_pb_mode": mode, "pb_entropy_coef": 0.3, "pb_l2_reg": 0.1}
    whole = computed(data, 1, estimator=estimator)
    cut = computed(data, parts, estimator=estimator)
    assert set(cut.figures.terms) == set(whole.figures.terms)
    for name, value in whole.figures.terms.items():
        assert cut.figures.terms[name] == pytest.approx(value, rel=1e-9), name
    assert cut.figures.loss == pytest.approx(whole.figures.loss, rel=1e-9)
    scale = float(whole.gradient.abs().max())
    assert scale > 0.1
    torch.testing.assert_close(cut.gradient, whole.gradient, rtol=1e-9, atol=1e-9 * scale)
    assert cut.targets == whole.targets and cut.figures.refused == whole.figures.refused
    assert cut.figures.residual == pytest.approx(whole.figures.residual, abs=1e-9), "in the order of the step"
    assert cut.figures.log_z == pytest.approx(whole.figures.log_z, abs=1e-9)
    assert len(cut.figures.log_z) == 8 and len(cut.figures.residual) == 32


def test_replayed_paths_are_drawn_in_proportion_to_the_reward(data: Path):
    """By default, and where P_B is 1. Over many steps they are more than the one shortest path that is taught."""
    work = worker(data, 1, gt_replay_ratio=1.0)
    batch, names = work.questions.batch([0])
    replays = [work._replay(batch, [0], names, step) for step in range(200)]
    assert all(replay is not None and replay.likelihood.all() for replay in replays)
    drawn = torch.cat([replay.edges for replay in replays if replay is not None])
    env, reward = work.module.env, work.module.reward
    walks = enumerate_walks(env, batch, 0)
    worth = reward(batch, walks, batch.question_emb).reward
    for walk, share in zip(walks.edges, worth / worth.sum(), strict=True):
        found = float((drawn == walk).all(1).double().mean())
        assert abs(found - share) < 4 * math.sqrt(share * (1 - share) / len(drawn)) + 2 / len(drawn)
    taught = worker(data, 1, gt_replay_ratio=1.0, estimator={"log_pb_mode": "uniform"})
    replay = taught._replay(batch, [0], names, 3)
    assert replay is not None and not replay.likelihood.any()
    assert torch.equal(replay.edges, batch.gt_paths)


def test_graphs_of_too_many_paths_are_taught_a_shortest_one(data: Path, monkeypatch: pytest.MonkeyPatch):
    """By trajectory balance, which holds for any path."""
    monkeypatch.setattr(questions_module, "MOST_PATHS", 2)
    work = worker(data, 1, gt_replay_ratio=1.0)
    batch, names = work.questions.batch([0])
    replay = work._replay(batch, [0], names, 3)
    assert replay is not None and not replay.likelihood.any()
    assert torch.equal(replay.edges, batch.gt_paths)


def test_parts_differ_in_what_their_means_are_over(data: Path):
    """Else the test above could not tell sums from means of means."""
    whole = computed(data, 1, estimator={"log_pb_mode": "learned"})
    assert {"tb_loss", "gt_loss", "pb_nll", "pb_entropy", "pb_l2"} == set(whole.figures.terms)
    assert whole.targets not in (8, 32)
    assert math.isfinite(whole.figures.loss)


def test_dropout_is_drawn_by_part(data: Path):
    policy = {"hidden": 16, "dropout": 0.5}
    once, again = (computed(data, 4, policy=policy) for _ in range(2))
    assert torch.equal(once.gradient, again.gradient)
    other = computed(data, 4, step=4, policy=policy)
    assert not torch.equal(once.gradient, other.gradient)


@pytest.mark.parametrize(
    "wrong",
    [{"processes": 4, "parts": 3}, {"batch_size": 2, "processes": 3}, {"batch_size": 4, "parts": 5}],
)
def test_every_process_needs_a_part_of_each_step(wrong: dict[str, int]):
    with pytest.raises(ValidationError, match="processes <= parts <= batch_size"):
        GFlowNetSection.model_validate(wrong)
