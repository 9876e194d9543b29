"""The gradient of a training step: its questions, its draws, its loss."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass

import torch

from engine.gflownet.evaluation.metrics import trajectory_figures
from engine.gflownet.evaluation.questions import QuestionBatches
from engine.gflownet.sampler.actor import Sampling
from engine.gflownet.sampler.counter_noise import rollout_seeds
from engine.gflownet.sampler.graph_batch import GraphBatch
from engine.gflownet.sampler.module import GFlowNetModule, Losses, prior_alpha
from engine.gflownet.sampler.replay import Replay, drawn_paths, shortest_paths
from engine.seeds import epoch_items, generator

STAGE = "gflownet"
WATCHED = (
    "rollout_reward",
    "success_mean",
    "answer_f1",
    "path_hit_precision",
    "path_hit_recall",
    "path_hit_f1",
    "length_mean",
)


@dataclass(frozen=True)
class Step:
    """The gradient of each parameter that learns, and what it was computed from: the losses, and the means of WATCHED
    over the trajectories."""

    gradients: Sequence[torch.Tensor]
    losses: Losses
    watched: dict[str, float]


class StepComputer:
    """Computes steps with a copy of `trained` on `device`."""

    def __init__(
        self, trained: GFlowNetModule, questions: QuestionBatches, run_seed: int, device: torch.device
    ) -> None:
        self.trained = trained
        self.module = module = deepcopy(trained).to(device)
        self.section = module.section
        self.questions = questions
        self.run_seed = run_seed
        self.device = device
        self.parameters = [parameter for parameter in module.parameters() if parameter.requires_grad]

    def compute(self, step: int) -> Step:
        """Step number `step`, with the weights that `trained` has now."""
        self.module.load_state_dict(self.trained.state_dict())
        self.module.train()
        numbers = epoch_items(self.run_seed, STAGE, len(self.questions), self.section.batch_size, step)
        losses = self._losses(step, numbers)
        gradients = torch.autograd.grad(
            losses.total, self.parameters, allow_unused=True, materialize_grads=True
        )
        watched = trajectory_figures(losses.batch, losses.rollout.walks, losses.reward)
        return Step(gradients, losses, {name: float(watched[name].mean()) for name in WATCHED})

    def _seeds(self, names: Sequence[str], step: int) -> torch.Tensor:
        each = self.section.num_train_rollouts
        return rollout_seeds(self.run_seed, "train", names, each, step * each)

    def _replay(
        self, batch: GraphBatch, numbers: Sequence[int], names: Sequence[str], step: int
    ) -> Replay | None:
        """Paths for a share of the questions. Where all paths of a question can be listed and P_B is 1, some are
        drawn in proportion to R; otherwise, or if the section says so, it is a shortest one."""
        section = self.section
        by_reward = section.gt_replay == "reward" and section.estimator.log_pb_mode == "exact"
        drawn, taught = [], []
        for place, (number, name) in enumerate(zip(numbers, names, strict=True)):
            rng = generator(self.run_seed, STAGE, f"replay {name}", step)
            if rng.random() >= section.gt_replay_ratio:
                continue
            listed = self.questions.listed(number) if by_reward else None
            if listed is None:
                taught.append(place)
            else:
                drawn.append(drawn_paths(batch, place, listed.drawn(rng.random(section.num_train_rollouts))))
        if taught:
            drawn.append(shortest_paths(batch, taught, section.gt_replay == "likelihood"))
        return Replay.join(drawn) if drawn else None

    def _losses(self, step: int, numbers: Sequence[int]) -> Losses:
        actor = self.section.actor
        batch, names = self.questions.batch(numbers)
        alpha = prior_alpha(self.section, step)
        sampling = Sampling(actor.policy_temperature, alpha, actor.random_action_prob)
        replay = self._replay(batch, numbers, names, step)
        return self.module.losses(
            batch.to(self.device),
            self._seeds(names, step).to(self.device),
            sampling,
            None if replay is None else replay.to(self.device),
        )
