"""What a step of the training learns from: replayed paths, which belong to the step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from engine.gflownet import layout
from engine.gflownet.agent_graphs.dataset import GAgentPyGDataset
from engine.gflownet.evaluation import questions as questions_module
from engine.gflownet.evaluation.questions import QuestionBatches
from engine.gflownet.graphs.tables import EmbeddingTables
from engine.gflownet.sampler.environment import enumerate_walks
from engine.gflownet.sampler.graph_batch import GraphBatch
from engine.gflownet.sampler.module import GFlowNetModule
from engine.gflownet.training.step import Step, StepComputer
from tests.engine.gflownet.small_run import run_stages, small_config


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    run_stages(folder, ("graphs", "retriever", "agent-graphs"))
    return folder


def computer(data: Path, **changes: object) -> StepComputer:
    section = small_config(gflownet={"batch_size": 8, "gt_replay_ratio": 0.6, **changes}).gflownet
    tables = EmbeddingTables.load(data)
    torch.manual_seed(0)
    module = GFlowNetModule(tables.width, section).double()
    questions = DoubleQuestions(GAgentPyGDataset(layout.agent_graphs(data, "train")), tables, module)
    return StepComputer(module, questions, 0, torch.device("cpu"))


def computed(data: Path, step: int = 3, **changes: object) -> Step:
    return computer(data, **changes).compute(step)


class DoubleQuestions(QuestionBatches):
    """In float64, where what differs is not rounding."""

    def batch(self, numbers: Sequence[int]) -> tuple[GraphBatch, list[str]]:
        batch, names = super().batch(numbers)
        return batch.to("cpu", torch.float64), names


def test_replayed_paths_are_drawn_in_proportion_to_the_reward(data: Path):
    """By default, and where P_B is 1. Over many steps they are more than the one shortest path that is taught."""
    work = computer(data, gt_replay_ratio=1.0)
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
    taught = computer(data, gt_replay_ratio=1.0, estimator={"log_pb_mode": "uniform"})
    replay = taught._replay(batch, [0], names, 3)
    assert replay is not None and not replay.likelihood.any()
    assert torch.equal(replay.edges, batch.gt_paths)


def test_graphs_of_too_many_paths_are_taught_a_shortest_one(data: Path, monkeypatch: pytest.MonkeyPatch):
    """By trajectory balance, which holds for any path."""
    monkeypatch.setattr(questions_module, "MOST_PATHS", 2)
    work = computer(data, gt_replay_ratio=1.0)
    batch, names = work.questions.batch([0])
    replay = work._replay(batch, [0], names, 3)
    assert replay is not None and not replay.likelihood.any()
    assert torch.equal(replay.edges, batch.gt_paths)


def test_replayed_paths_are_learned_from_where_there_are_some(data: Path):
    """At a share of 0 there are none, and no loss of theirs; otherwise theirs, weighted, beside that of the draws."""
    alone, taught = computed(data, gt_replay_ratio=0.0).losses, computed(data, gt_replay_ratio=1.0).losses
    halved = computed(data, gt_replay_ratio=1.0, gt_loss_weight=8.0).losses
    assert list(alone.terms) == ["tb_loss"] and list(taught.terms) == ["tb_loss", "gt_loss"]
    assert torch.equal(alone.terms["tb_loss"], taught.terms["tb_loss"]), "the draws are the same"
    theirs = float(taught.terms["gt_loss"].detach())
    assert theirs > 1 and theirs == pytest.approx(2 * float(halved.terms["gt_loss"].detach()))
    assert float((taught.total - alone.total).detach()) == pytest.approx(theirs)


def test_weights_that_no_walk_depends_on_have_a_gradient_of_zero(data: Path):
    """Of walks of a single edge, what remembers the edges walked before."""
    work = computer(data, environment={"max_steps": 1})
    gradients = work.compute(3).gradients
    names = [name for name, parameter in work.module.named_parameters() if parameter.requires_grad]
    found = dict(zip(names, gradients, strict=True))
    assert all(
        found[name].shape == parameter.shape
        for name, parameter in work.module.named_parameters()
        if parameter.requires_grad
    )
    walk = {name: bool(gradient.any()) for name, gradient in found.items() if name.startswith("policy.walk.")}
    assert len(walk) == 4 and not any(walk.values())
    assert found["estimator.log_z_head.1.weight"].any()


def test_what_is_watched_are_means_over_the_trajectories(data: Path):
    found = computed(data)
    assert len(found.losses.residual) == 32
    assert found.watched["success_mean"] == pytest.approx(float(found.losses.reward.success.double().mean()))
    assert found.watched["length_mean"] == pytest.approx(
        float(found.losses.rollout.walks.length.double().mean())
    )
