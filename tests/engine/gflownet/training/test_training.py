"""The optimiser's steps against Adam written out, and what a step draws: questions, roll-outs, replay, exploration."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from engine.config.gflownet import GFlowNetSection
from engine.gflownet.sampler.actor import Sampling
from engine.gflownet.sampler.graph_batch import GraphBatch
from engine.gflownet.sampler.module import GFlowNetModule, Losses
from engine.gflownet.training.step import WATCHED, Step, StepComputer
from engine.gflownet.training.training import Training, _deciding
from tests.engine.gflownet.small_graphs import SMALL_GRAPHS, WIDTH, small_batch

STEPS = 4


def made(**changes: object) -> GFlowNetModule:
    torch.manual_seed(0)
    section = {"policy": {"hidden": 8}, "batch_size": 3, "steps": STEPS} | changes
    return GFlowNetModule(WIDTH, GFlowNetSection.model_validate(section)).double()


class GivenGradients:
    """In a computer's place: these gradients [all weights that learn], and figures that are told from each other."""

    def __init__(self, module: GFlowNetModule, gradients: Sequence[torch.Tensor]) -> None:
        self.learning = [parameter for parameter in module.parameters() if parameter.requires_grad]
        self.gradients = gradients

    def compute(self, step: int) -> Step:
        pieces = self.gradients[step].clone().split([parameter.numel() for parameter in self.learning])
        losses = Losses(
            terms={"tb_loss": torch.tensor(5.0), "gt_loss": torch.tensor(2.0)}, pb_avg_entropy=torch.tensor(1.5),
            refused=1, residual=torch.tensor([0.0, 1.0, 2.0, 3.0, 4.0, 20.0]), log_z=torch.tensor([1.0, 3.0]),
            batch=None, rollout=None, reward=None,  # type: ignore[arg-type]
        )  # fmt: skip
        watched = {name: number + 1.0 for number, name in enumerate(WATCHED)}
        gradients = [piece.view_as(weights) for piece, weights in zip(pieces, self.learning, strict=True)]
        return Step(gradients, losses, watched)


def test_weights_move_as_adam_says_with_a_rate_of_its_own_for_log_z(tmp_path: Path):
    """Kingma & Ba 2015, algorithm 1, over clipped gradients; both rates fall by one cosine (spec GFlowNet 8)."""
    module = made(
        learning_rate=1e-3,
        actor={
            "retriever_prior_alpha_start": 1.0, "retriever_prior_alpha_end": 0.0, "retriever_prior_anneal_steps": 10,
        },
    )  # fmt: skip
    learning = [parameter for parameter in module.parameters() if parameter.requires_grad]
    width = sum(parameter.numel() for parameter in learning)
    of_log_z = {id(parameter) for parameter in module.estimator.log_z_head.parameters()}
    own_rate = np.concatenate([np.full(p.numel(), 0.01 if id(p) in of_log_z else 1e-3) for p in learning])
    draw = torch.Generator().manual_seed(3)
    sizes = (0.01, 3.0, 0.2, 0.02)  # norms above and below the clip
    gradients = [torch.randn(width, generator=draw, dtype=torch.float64) for _ in sizes]
    gradients = [gradient * size / gradient.norm() for gradient, size in zip(gradients, sizes, strict=True)]
    weights = torch.cat([parameter.detach().flatten() for parameter in learning]).numpy().copy()
    first, second = np.zeros(width), np.zeros(width)

    training, computer = Training(module, tmp_path / "sampler.pt", WIDTH), GivenGradients(module, gradients)
    reports = []
    for step, (given, size) in enumerate(zip(gradients, sizes, strict=True)):
        report = training.update(computer)  # type: ignore[arg-type]
        reports.append(report)
        gradient = given.numpy() * min(1.0, 1.0 / size)
        first = 0.9 * first + 0.1 * gradient
        second = 0.999 * second + 0.001 * gradient**2
        share = 0.2 + 0.8 * (1 + math.cos(math.pi * step / STEPS)) / 2
        corrected = first / (1 - 0.9 ** (step + 1)), np.sqrt(second / (1 - 0.999 ** (step + 1)))
        weights -= share * own_rate * corrected[0] / (corrected[1] + 1e-8)
        now = torch.cat([parameter.detach().flatten() for parameter in learning]).numpy()
        assert now == pytest.approx(weights, rel=1e-5, abs=1e-9), f"step {step}"
        assert report.gradient_norm == pytest.approx(size), "as it was before clipping"
        assert report.prior_alpha == pytest.approx(1 - step / 10), "the weight at which the step was drawn"
        assert (report.step, report.steps) == (step + 1, STEPS)
    report = reports[-1]
    assert (report.loss, report.tb_loss, report.gt_loss, report.refused) == (7, 5, 2, 1)
    assert report.pb_avg_entropy == 1.5 and report.log_z == 2 and report.residual == 5
    assert report.residual_quantiles == pytest.approx([0.25, 1.25, 2.5, 3.75, 16.0])
    assert [getattr(report, name) for name in WATCHED] == [1, 2, 3, 4, 5, 6, 7]


class Few:
    """Five questions with the same small graphs; their paths cannot be listed."""

    def __len__(self) -> int:
        return 5

    def batch(self, numbers: Sequence[int]) -> tuple[GraphBatch, list[str]]:
        return small_batch([SMALL_GRAPHS[number] for number in numbers]), [f"q{number}" for number in numbers]

    def listed(self, number: int) -> None:
        return None


def computer(run_seed: int = 0, **changes: object) -> StepComputer:
    return StepComputer(made(**changes), Few(), run_seed, torch.device("cpu"))  # type: ignore[arg-type]


def test_no_roll_out_is_drawn_twice():
    """A question's roll-outs are numbered through all steps, whatever the other questions of its batch."""
    work = computer(num_train_rollouts=3)
    drawn = [work._seeds(["q0", "q1"], step) for step in range(5)]
    seeds = torch.cat(drawn)
    assert len(seeds) == len(seeds.unique()) == 5 * 2 * 3
    assert torch.equal(work._seeds(["q1"], 2), drawn[2][3:])
    assert not torch.isin(computer(run_seed=1, num_train_rollouts=3)._seeds(["q0"], 0), seeds).any()


def test_each_epoch_has_every_question_once():
    """Five questions, three a step: fifteen draws of five steps are three epochs."""
    work, drawn = computer(), list[int]()
    batch = work.questions.batch

    def recorded(numbers: Sequence[int]) -> tuple[GraphBatch, list[str]]:
        drawn.extend(numbers)
        return batch(numbers)

    work.questions.batch = recorded  # type: ignore[method-assign]
    for step in range(5):
        work.compute(step)
    assert [sorted(drawn[first : first + 5]) for first in (0, 5, 10)] == [[0, 1, 2, 3, 4]] * 3


def test_a_step_is_computed_with_the_weights_of_now():
    """Where all are 0, so is log Z."""
    work = computer()
    assert work.compute(0).losses.log_z.abs().min() > 0
    with torch.no_grad():
        for weight in work.trained.parameters():
            weight.zero_()
    assert work.compute(0).losses.log_z.tolist() == [0.0] * 3


def test_trajectories_are_counted_by_the_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Six within two seconds."""
    module = made()
    count = sum(parameter.numel() for parameter in module.parameters() if parameter.requires_grad)
    clock = SimpleNamespace(perf_counter=iter([10.0, 12.0]).__next__)
    monkeypatch.setattr("engine.gflownet.training.training.time", clock)
    training = Training(module, tmp_path / "sampler.pt", WIDTH)
    report = training.update(GivenGradients(module, [torch.ones(count).double()]))  # type: ignore[arg-type]
    assert report.trajectories_per_second == 3


@pytest.mark.parametrize("ratio", [0.0, 0.25, 1.0])
def test_the_configured_share_of_questions_is_replayed_drawn_anew_each_step(ratio: float):
    work = computer(gt_replay_ratio=ratio, gt_replay="likelihood")
    batch, names = work.questions.batch([0, 1])
    replays = [work._replay(batch, [0, 1], names, step) for step in range(200)]
    shares = [sum(each is not None and number in each.graph for each in replays) / 200 for number in (0, 1)]
    for share in shares:
        assert abs(share - ratio) <= 4 * math.sqrt(ratio * (1 - ratio) / 200)
    if ratio == 1:
        assert all(each is not None and each.likelihood.all() for each in replays)
        assert torch.equal(replays[0].edges, batch.gt_paths)  # type: ignore[union-attr]
        balanced = computer(gt_replay_ratio=1.0, gt_replay="balance")._replay(batch, [0, 1], names, 0)
        assert balanced is not None and not balanced.likelihood.any()


def test_training_explores_and_evaluation_has_a_temperature_of_its_own(monkeypatch: pytest.MonkeyPatch):
    actor = {
        "policy_temperature": 1.5, "eval_policy_temperature": 0.5, "random_action_prob": 0.1,
        "retriever_prior_alpha_start": 2.0, "retriever_prior_alpha_end": 1.0, "retriever_prior_anneal_steps": 4,
    }  # fmt: skip
    work = computer(actor=actor)
    seen: list[Sampling] = []
    monkeypatch.setattr(work.module, "losses", lambda batch, seeds, sampling, replay: seen.append(sampling))
    work._losses(2, [0, 1])
    assert seen == [Sampling(temperature=1.5, prior_alpha=1.5, random_action_prob=0.1)]


@pytest.mark.parametrize(("patience", "ends"), [(0, 4), (2, 4), (1, 2)])
def test_evaluations_that_find_nothing_better_are_counted(tmp_path: Path, patience: int, ends: int):
    """Only those in a row; a patience of 0 is none."""
    module = made(steps=40, early_stopping={"monitor": "answer_f1", "patience": patience or None})
    training = Training(module, tmp_path / "sampler.pt", WIDTH)
    found: list[tuple[bool, int]] = []
    for number, success in enumerate((0.25, 0.25, 0.5, 0.5), 1):
        training.step = number
        found.append(
            (
                training.record_validation({"answer_f1": success, "rollout_reward": -number}),
                training.evaluations_since_best,
            )
        )
        if training.finished:
            break
    assert found == [(True, 0), (False, 1), (True, 0), (False, 1)][:ends]
    training.step = 40
    assert training.finished


@pytest.mark.parametrize(("restore", "at"), [(True, 2), (False, 3)])
def test_the_best_weights_are_loaded_unless_the_last_ones_are_wanted(tmp_path: Path, restore: bool, at: int):
    """Marked by the step behind which the module had them."""
    module = made(early_stopping={"monitor": "answer_f1", "restore_best": restore})
    training = Training(module, tmp_path / "sampler.pt", WIDTH)
    (weight, *_) = module.parameters()
    for step, value in ((1, 0.25), (2, 0.5), (3, 0.5)):
        training.step = step
        with torch.no_grad():
            weight.fill_(step)
        training.record_validation({"answer_f1": value})
    assert training.load_best_or_last() == at and set(weight.flatten().tolist()) == {float(at)}


@pytest.mark.parametrize(
    ("changes", "decides"),
    [
        ({"path_hit_k": [1, 2]}, False), ({"success_k": [1]}, False), ({"auto_add_path_hit_f1": False}, False),
        ({"checkpoint_every": 3}, False), ({"distinct_paths": True}, False),
        ({"device": "cuda"}, False), ({"learning_rate": 0.5}, True), ({"eval_every": 3}, True), ({"steps": 5}, True),
    ],
)  # fmt: skip
def test_what_is_only_watched_may_change_in_a_resumed_run(changes: dict[str, object], decides: bool):
    usual = GFlowNetSection()
    changed = GFlowNetSection.model_validate(changes)
    assert changed != usual and (_deciding(changed) != _deciding(usual)) is decides
