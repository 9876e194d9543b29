"""The training of the sampler, a step at a time; stopped or killed and resumed, it gives the same weights.

No generator's position is part of the state: order of the data, roll-outs, and replay are drawn by (run seed,
question, step).
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from engine.config.gflownet import GFlowNetSection
from engine.events import SamplerStep
from engine.gflownet.sampler.module import GFlowNetModule, prior_alpha
from engine.gflownet.training.step import Step, StepComputer
from engine.training_state import BestWeights, TrainingState

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


class Training:
    """Module, optimiser, schedules and position, and their file."""

    def __init__(self, module: GFlowNetModule, path: Path, width: int) -> None:
        self.module = module
        self.section = module.section
        self.step = 0
        self.best = BestWeights(module)
        self.evaluations_since_best = 0
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
            parts={"module": module, "optimizer": self.optimizer, "best": self.best},
            hint="continue with the settings it was started with, or start a new run",
        )
        self._rates = (self.section.learning_rate, self.section.log_z_learning_rate)

    def restore(self) -> None:
        """Take over the saved state, if it exists. Raises DataError for a state of other settings."""
        saved = self._state.restore(self._position())
        self.step, self.evaluations_since_best = saved["step"], saved["stale"]

    def save(self) -> None:
        """Everything the rest of the training depends on."""
        self._state.save(self._position())

    def _position(self) -> dict[str, int]:
        return {"step": self.step, "stale": self.evaluations_since_best}

    @property
    def finished(self) -> bool:
        """All steps are done, or too many evaluations found nothing better (spec 9.1)."""
        return self.step >= self.section.steps or self.evaluations_since_best >= (
            self.section.early_stopping.patience or math.inf
        )

    def record_validation(self, figures: Mapping[str, float]) -> bool:
        """Take note of these weights' figures on validation; whether they are the best so far."""
        best = self.best.offer(figures[self.section.early_stopping.monitor], self.step)
        self.evaluations_since_best = 0 if best else self.evaluations_since_best + 1
        return best

    def load_best_or_last(self) -> int:
        """Load the weights that are evaluated and drawn with; their training step."""
        if not self.section.early_stopping.restore_best:
            return self.step
        self.best.use()
        return self.best.at

    def update(self, computer: StepComputer) -> SamplerStep:
        """A step with the gradient that `computer` finds; returns its figures."""
        began = time.perf_counter()
        section, step = self.section, self.step
        computed = computer.compute(step)
        for group, rate in zip(self.optimizer.param_groups, self._rates, strict=True):
            group["lr"] = rate * self._schedule(step)
        learning = [parameter for parameter in self.module.parameters() if parameter.requires_grad]
        for parameter, gradient in zip(learning, computed.gradients, strict=True):
            parameter.grad = gradient.to(parameter.device)
        norm = torch.nn.utils.clip_grad_norm_(learning, section.grad_clip)
        self.optimizer.step()
        self.step += 1
        return self._report(computed, float(norm), time.perf_counter() - began)

    def _schedule(self, step: int) -> float:
        """A cosine from 1 to `learning_rate_end` / `learning_rate`."""
        end = self.section.learning_rate_end / self.section.learning_rate
        return end + (1 - end) * 0.5 * (1 + math.cos(math.pi * step / self.section.steps))

    def _report(self, computed: Step, norm: float, seconds: float) -> SamplerStep:
        losses = computed.losses
        figures: dict[str, Any] = {name: float(term.detach()) for name, term in losses.terms.items()}
        figures |= computed.watched
        delta = losses.residual.double()
        return SamplerStep(
            step=self.step,
            steps=self.section.steps,
            loss=float(losses.total.detach()),
            pb_avg_entropy=float(losses.pb_avg_entropy),
            residual=float(delta.mean()),
            residual_quantiles=torch.quantile(delta, delta.new_tensor(QUANTILES)).tolist(),
            log_z=float(losses.log_z.double().mean()),
            prior_alpha=prior_alpha(self.section, self.step - 1),
            gradient_norm=norm,
            refused=losses.refused,
            trajectories_per_second=delta.shape[0] / max(seconds, 1e-9),
            **figures,
        )


def _deciding(section: GFlowNetSection) -> dict[str, Any]:
    """The settings on which the weights depend."""
    watching = {"path_hit_k", "success_k", "log_every", "checkpoint_every"}
    return section.values(watching | {"distinct_paths", "auto_add_path_hit_f1", "device"})
