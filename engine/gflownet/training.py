"""The training of the sampler, a step at a time: stopped or killed and gone on with, it draws the same curve.

No generator's position is part of the state but dropout's: order of the data, roll-outs and replay are drawn by
(run seed, question, step).
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from engine.errors import DataError
from engine.events import SamplerStep
from engine.gflownet.actor import Sampling
from engine.gflownet.graph_batch import GraphBatch
from engine.gflownet.metrics import trajectory_figures
from engine.gflownet.module import GFlowNetModule, Losses, prior_alpha
from engine.gflownet.questions import Questions
from engine.gflownet.settings import GFlowNetSection
from engine.seeds import derive_seed, generator
from engine.torch_file import load_torch, save_torch

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
STAGE = "gflownet"


class Training:
    """Module, optimiser, schedules and position, and their file."""

    def __init__(
        self, module: GFlowNetModule, questions: Questions, run_seed: int, path: Path, width: int
    ) -> None:
        self.module = module
        self.section = module.section
        self.questions = questions
        self.run_seed = run_seed
        self.path = path
        self.step = 0
        self._shape = {"embedding_width": width, **_deciding(self.section)}
        log_z = list(module.estimator.log_z_head.parameters())
        apart = {id(parameter) for parameter in log_z}
        others = [p for p in module.parameters() if id(p) not in apart and p.requires_grad]
        self.optimizer = torch.optim.Adam(
            [
                {"params": others, "lr": self.section.learning_rate},
                {"params": log_z, "lr": self.section.log_z_learning_rate},
            ]
        )
        self._rates = (self.section.learning_rate, self.section.log_z_learning_rate)

    def restore(self) -> None:
        """Take over the saved state, if there is one. Raises DataError for one of another shape."""
        if not self.path.is_file():
            return
        mend = "go on with the settings it was begun with, or start a new run"
        state = load_torch(self.path, mend)
        if state.get("shape") != self._shape:
            differing = sorted(
                name for name, value in self._shape.items() if state.get("shape", {}).get(name) != value
            )
            raise DataError(
                what=f"the sampler's checkpoint was made with another {', '.join(differing)}",
                where=str(self.path),
                mend=mend,
            )
        try:
            self.module.load_state_dict(state["module"])
            self.optimizer.load_state_dict(state["optimizer"])
        except (KeyError, RuntimeError, ValueError) as error:
            raise DataError(
                what=f"its weights have another shape: {error}", where=str(self.path), mend=mend
            ) from error
        torch.set_rng_state(state["rng"])
        self.step = state["step"]

    def save(self) -> None:
        """Everything the rest of the training depends on."""
        state = {
            "shape": self._shape,
            "module": self.module.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "rng": torch.get_rng_state(),
            "step": self.step,
        }
        save_torch(self.path, state)

    def update(self) -> SamplerStep:
        """One step; says what it saw."""
        began = time.perf_counter()
        section, step = self.section, self.step
        batch, names = self.questions.batch(self._numbers(step))
        alpha = prior_alpha(section, step)
        sampling = Sampling(section.actor.policy_temperature, alpha, section.actor.random_action_prob)
        self.module.train()
        losses = self.module.losses(batch, self._seeds(names, step), sampling, self._replayed(names, step))
        for group, rate in zip(self.optimizer.param_groups, self._rates, strict=True):
            group["lr"] = rate * self._schedule(step)
        self.optimizer.zero_grad(set_to_none=True)
        losses.total.backward()
        norm = torch.nn.utils.clip_grad_norm_(self.module.parameters(), section.grad_clip)
        self.optimizer.step()
        self.step += 1
        return _report(
            self.step, section.steps, batch, losses, alpha, float(norm), time.perf_counter() - began
        )

    def _numbers(self, step: int) -> list[int]:
        """Every question once an epoch, in an order drawn for the epoch."""
        count = len(self.questions)
        size = min(self.section.batch_size, count)
        numbers = []
        for place in range(step * size, (step + 1) * size):
            epoch, offset = divmod(place, count)
            numbers.append(int(self._order(epoch)[offset]))
        return numbers

    def _order(self, epoch: int) -> np.ndarray:
        return generator(self.run_seed, STAGE, "order", epoch).permutation(len(self.questions))

    def _seeds(self, names: Sequence[str], step: int) -> torch.Tensor:
        each = self.section.num_train_rollouts
        return rollout_seeds(self.run_seed, "train", names, each, step * each)

    def _replayed(self, names: Sequence[str], step: int) -> list[int]:
        ratio = self.section.gt_replay_ratio
        drawn = [generator(self.run_seed, STAGE, f"replay {name}", step).random() for name in names]
        return [number for number, value in enumerate(drawn) if value < ratio]

    def _schedule(self, step: int) -> float:
        """A cosine from 1 to `learning_rate_end` / `learning_rate`."""
        end = self.section.learning_rate_end / self.section.learning_rate
        return end + (1 - end) * 0.5 * (1 + math.cos(math.pi * step / self.section.steps))


def rollout_seeds(
    run_seed: int, purpose: str, names: Sequence[str], each: int, first: int = 0
) -> torch.Tensor:
    """Seeds [len(names) * each] of trajectories first .. first + each - 1 of each question."""
    return torch.tensor(
        [derive_seed(run_seed, STAGE, f"{purpose} {name}", first + k) for name in names for k in range(each)]
    )


def _deciding(section: GFlowNetSection) -> dict[str, Any]:
    """The settings on which the weights depend."""
    watching = {"num_eval_rollouts", "path_hit_k", "success_k", "log_every", "eval_every", "checkpoint_every"}
    return section.model_dump(exclude=watching)


def _report(
    step: int, steps: int, batch: GraphBatch, losses: Losses, alpha: float, norm: float, seconds: float
) -> SamplerStep:
    figures = {
        name: float(values.mean())
        for name, values in trajectory_figures(batch, losses.rollout.walks, losses.reward).items()
    }
    delta = losses.residual.double()
    terms = {name: float(term.detach()) for name, term in losses.terms.items()}
    return SamplerStep(
        step=step,
        steps=steps,
        loss=float(losses.total.detach()),
        tb_loss=terms["tb_loss"],
        gt_loss=terms.get("gt_loss"),
        pb_nll=terms.get("pb_nll"),
        pb_avg_entropy=float(losses.pb_avg_entropy),
        residual=float(delta.mean()),
        residual_quantiles=torch.quantile(delta, torch.tensor(QUANTILES, dtype=delta.dtype)).tolist(),
        log_z=float(losses.log_z.mean()),
        prior_alpha=alpha,
        gradient_norm=norm,
        refused=losses.refused,
        trajectories_per_second=delta.shape[0] / max(seconds, 1e-9),
        rollout_reward=figures["rollout_reward"],
        success_mean=figures["success_mean"],
        answer_f1=figures["answer_f1"],
        path_hit_f1=figures["path_hit_f1"],
        length_mean=figures["length_mean"],
    )
