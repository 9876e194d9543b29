"""The training of the sampler, a step at a time; stopped or killed and resumed, it gives the same weights.

No generator's position is part of the state: order of the data, roll-outs, replay and dropout are drawn by (run seed,
question or micro-batch, step).
"""

from __future__ import annotations

import math
import time
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
from torch.nn.utils import parameters_to_vector

from engine.config.gflownet import GFlowNetSection
from engine.events import SamplerStep
from engine.gflownet.sampler.module import GFlowNetModule, prior_alpha
from engine.gflownet.training.step_worker import StepSums, StepWorker
from engine.training_state import TrainingState

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


class Training:
    """Module, optimiser, schedules and position, and their file."""

    def __init__(self, module: GFlowNetModule, path: Path, width: int) -> None:
        self.module = module
        self.section = module.section
        self.step = 0
        log_z = list(module.estimator.log_z_head.parameters())
        apart = {id(parameter) for parameter in log_z}
        others = [p for p in module.parameters() if id(p) not in apart and p.requires_grad]
        self.optimizer = torch.optim.Adam(
            [
                {"params": others, "lr": self.section.learning_rate},
                {"params": log_z, "lr": self.section.log_z_learning_rate},
            ]
        )
        self._state = TrainingState(
            path,
            "the sampler's checkpoint",
            shape={"embedding_width": width, **_deciding(self.section)},
            parts={"module": module, "optimizer": self.optimizer},
            mend="continue with the settings it was started with, or start a new run",
        )
        self._rates = (self.section.learning_rate, self.section.log_z_learning_rate)

    def restore(self) -> None:
        """Take over the saved state, if it exists. Raises DataError for a state of other settings."""
        self.step = self._state.restore({"step": self.step})["step"]

    def save(self) -> None:
        """Everything the rest of the training depends on."""
        self._state.save({"step": self.step})

    def update(self, worker: StepWorker) -> SamplerStep:
        """A step with the gradient that `worker` computes; returns its figures."""
        began = time.perf_counter()
        section, step = self.section, self.step
        sums = worker.lead(step, parameters_to_vector(self.module.parameters()).detach())
        for group, rate in zip(self.optimizer.param_groups, self._rates, strict=True):
            group["lr"] = rate * self._schedule(step)
        learning = [parameter for parameter in self.module.parameters() if parameter.requires_grad]
        pieces = sums.gradient.split([parameter.numel() for parameter in learning])
        for parameter, piece in zip(learning, pieces, strict=True):
            parameter.grad = piece.view_as(parameter)
        norm = torch.nn.utils.clip_grad_norm_(learning, section.grad_clip)
        self.optimizer.step()
        self.step += 1
        return self._report(sums, float(norm), time.perf_counter() - began)

    def _schedule(self, step: int) -> float:
        """A cosine from 1 to `learning_rate_end` / `learning_rate`."""
        end = self.section.learning_rate_end / self.section.learning_rate
        return end + (1 - end) * 0.5 * (1 + math.cos(math.pi * step / self.section.steps))

    def _report(self, sums: StepSums, norm: float, seconds: float) -> SamplerStep:
        seen = sums.figures
        delta = torch.tensor(seen.residual, dtype=torch.float64)
        watched = {name: fmean(values) for name, values in seen.watched.items()}
        return SamplerStep(
            step=self.step,
            steps=self.section.steps,
            loss=seen.loss,
            tb_loss=seen.terms["tb_loss"],
            gt_loss=seen.terms.get("gt_loss"),
            pb_nll=seen.terms.get("pb_nll"),
            pb_avg_entropy=seen.entropy / max(1, sums.targets),
            residual=float(delta.mean()),
            residual_quantiles=torch.quantile(delta, torch.tensor(QUANTILES, dtype=delta.dtype)).tolist(),
            log_z=fmean(seen.log_z),
            prior_alpha=prior_alpha(self.section, self.step - 1),
            gradient_norm=norm,
            refused=seen.refused,
            trajectories_per_second=delta.shape[0] / max(seconds, 1e-9),
            rollout_reward=watched["rollout_reward"],
            success_mean=watched["success_mean"],
            answer_f1=watched["answer_f1"],
            path_hit_f1=watched["path_hit_f1"],
            length_mean=watched["length_mean"],
        )


def _deciding(section: GFlowNetSection) -> dict[str, Any]:
    """The settings on which the weights depend."""
    watching = {"num_eval_rollouts", "path_hit_k", "success_k", "log_every", "eval_every", "checkpoint_every"}
    return section.model_dump(exclude=watching | {"distinct_paths", "processes", "parts", "device"})
