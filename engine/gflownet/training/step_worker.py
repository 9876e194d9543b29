"""A process's share of a training step.

The questions of a step are cut into micro-batches (`gflownet.parts`), which are dealt out to the processes. The
gradient of a micro-batch does not depend on its process, and gradients are added in the order of the micro-batches: the
same micro-batches give the same weights, bit by bit, with any number of processes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TypeVar

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray

from engine.gflownet.evaluation.metrics import trajectory_figures
from engine.gflownet.evaluation.questions import QuestionBatches
from engine.gflownet.sampler.actor import Sampling
from engine.gflownet.sampler.counter_noise import rollout_seeds
from engine.gflownet.sampler.graph_batch import GraphBatch
from engine.gflownet.sampler.module import COUNTED, GFlowNetModule, Losses, added_up, prior_alpha
from engine.gflownet.sampler.replay import Replay, drawn_paths, shortest_paths
from engine.gflownet.training.ranks import Ranks
from engine.seeds import derive_seed, generator

STAGE = "gflownet"
T = TypeVar("T")
WATCHED = ("rollout_reward", "success_mean", "answer_f1", "path_hit_f1", "length_mean")


class StepFigures(msgspec.Struct):
    """Figures of a step or a micro-batch: the loss and its terms by the spec's names; `entropy` summed over the target
    nodes; `residual` and each of `watched` by trajectory, `log_z` by question."""

    loss: float
    terms: dict[str, float]
    entropy: float
    refused: int
    residual: list[float]
    watched: dict[str, list[float]]
    log_z: list[float]


@dataclass(frozen=True)
class StepSums:
    """A whole step: the gradient [P] of all parameters that learn, one behind the other, and its figures; `targets`
    is how many nodes `figures.entropy` is a sum over."""

    gradient: torch.Tensor
    figures: StepFigures
    targets: int


class StepWorker:
    """`module` is this process's own, on the device of `ranks`; each step is cut into `micro_batches`."""

    def __init__(
        self,
        module: GFlowNetModule,
        questions: QuestionBatches,
        run_seed: int,
        ranks: Ranks,
        micro_batches: int,
    ) -> None:
        self.module = module
        self.section = module.section
        self.questions = questions
        self.run_seed = run_seed
        self.ranks = ranks
        self.size = min(self.section.batch_size, len(questions))
        self.micro_batches = min(micro_batches, self.size)
        self._order = lru_cache(maxsize=2)(self._drawn_order)
        self.parameters = [parameter for parameter in module.parameters() if parameter.requires_grad]

    def lead(self, step: int, weights: torch.Tensor) -> StepSums:
        """Rank 0: have all processes compute `step` with its `weights` [all parameters], on the CPU."""
        with self.ranks.lead(step):
            sums = self._together(step, weights)
        assert sums is not None
        return sums

    def follow(self) -> bool:
        """Any other rank: wait for a step and compute its share. Returns False when training is over."""
        step = self.ranks.follow()
        if step is None:
            return False
        self._together(step, torch.empty(sum(p.numel() for p in self.module.parameters())))
        return True

    def _together(self, step: int, weights: torch.Tensor) -> StepSums | None:
        """Compute this process's share; the sums of all at rank 0, None elsewhere."""
        self.ranks.share(weights)
        self._take(weights)
        batches = self._cut(step)
        own = range(self.ranks.rank, self.micro_batches, self.ranks.size)
        self.module.train()
        losses = [self._losses(step, index, batches[index]) for index in own]
        counts = self.ranks.total([sum(each.counts.get(name, 0) for each in losses) for name in COUNTED])
        totals: dict[str, int] = dict(zip(COUNTED, counts, strict=True))
        results = [self._result(each, totals) for each in losses]
        gradients = self._gathered([gradient for gradient, _ in results])
        figures = self.ranks.gather_bytes(msgspec.msgpack.encode([seen for _, seen in results]))
        if gradients is None or figures is None:
            return None
        decoded = [msgspec.msgpack.decode(data, type=list[StepFigures]) for data in figures]
        return StepSums(
            _sum_in_order(self._dealt_back(gradients)), _joined(self._dealt_back(decoded)), totals["targets"]
        )

    def _take(self, weights: torch.Tensor) -> None:
        """Copied: as views of one vector they would be aligned otherwise, and products differ in the last digit."""
        parameters = list(self.module.parameters())
        pieces = weights.split([parameter.numel() for parameter in parameters])
        with torch.no_grad():
            for parameter, piece in zip(parameters, pieces, strict=True):
                parameter.copy_(piece.view_as(parameter))

    # ------------------------------------------------------------ the data of a step

    def _cut(self, step: int) -> list[list[int]]:
        """The questions of a step, cut into micro-batches of about equal size, the larger ones first."""
        numbers = self._numbers(step)
        short, longer = divmod(len(numbers), self.micro_batches)
        ends = [short * index + min(index, longer) for index in range(self.micro_batches + 1)]
        return [numbers[first:last] for first, last in pairwise(ends)]

    def _numbers(self, step: int) -> list[int]:
        """Every question once an epoch, in an order drawn for the epoch."""
        numbers = []
        for place in range(step * self.size, (step + 1) * self.size):
            epoch, offset = divmod(place, len(self.questions))
            numbers.append(int(self._order(epoch)[offset]))
        return numbers

    def _drawn_order(self, epoch: int) -> NDArray[np.int64]:
        return generator(self.run_seed, STAGE, "order", epoch).permutation(len(self.questions))

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

    # ------------------------------------------------------------ a micro-batch

    def _losses(self, step: int, index: int, numbers: Sequence[int]) -> Losses:
        actor, device = self.section.actor, self.ranks.device
        batch, names = self.questions.batch(numbers)
        alpha = prior_alpha(self.section, step)
        sampling = Sampling(actor.policy_temperature, alpha, actor.random_action_prob)
        if self.section.policy.dropout:  # torch's own generator: seeded by micro-batch, not by process
            torch.manual_seed(derive_seed(self.run_seed, STAGE, f"dropout {step}", index))
        replay = self._replay(batch, numbers, names, step)
        return self.module.losses(
            batch.to(device),
            self._seeds(names, step).to(device),
            sampling,
            None if replay is None else replay.to(device),
        )

    def _result(self, losses: Losses, counts: Mapping[str, int]) -> tuple[torch.Tensor, StepFigures]:
        """Gradient [P] of a micro-batch's share of the loss, and its figures."""
        terms = losses.terms_over(counts)
        loss = added_up(terms)
        gradients = torch.autograd.grad(loss, self.parameters, allow_unused=True, materialize_grads=True)
        watched = trajectory_figures(losses.batch, losses.rollout.walks, losses.reward)
        figures = StepFigures(
            float(loss.detach()),
            {name: float(term.detach()) for name, term in terms.items()},
            float(losses.entropy),
            losses.refused,
            losses.residual.tolist(),
            {name: watched[name].tolist() for name in WATCHED},
            losses.log_z.tolist(),
        )
        return torch.cat([gradient.flatten() for gradient in gradients]), figures

    # ------------------------------------------------------------ all micro-batches

    def _gathered(self, gradients: Sequence[torch.Tensor]) -> list[list[torch.Tensor]] | None:
        """The gradients of every process, at rank 0. All send equally many rows, filled up with zeros."""
        width = sum(parameter.numel() for parameter in self.parameters)
        rows = -(-self.micro_batches // self.ranks.size) - len(gradients)
        empty = torch.zeros(rows, width, device=self.ranks.device)
        gathered = self.ranks.gather(torch.cat([*(gradient[None] for gradient in gradients), empty]))
        return None if gathered is None else [list(rows) for rows in gathered]

    def _dealt_back(self, by_rank: Sequence[Sequence[T]]) -> list[T]:
        """Results in the order of the micro-batches, from those of each rank."""
        size = self.ranks.size
        return [by_rank[index % size][index // size] for index in range(self.micro_batches)]


def _sum_in_order(gradients: Sequence[torch.Tensor]) -> torch.Tensor:
    total = gradients[0].clone()
    for gradient in gradients[1:]:
        total += gradient
    return total.cpu()


def _joined(batches: Sequence[StepFigures]) -> StepFigures:
    names = dict.fromkeys(name for batch in batches for name in batch.terms)
    return StepFigures(
        sum(batch.loss for batch in batches),
        {name: sum(batch.terms.get(name, 0.0) for batch in batches) for name in names},
        sum(batch.entropy for batch in batches),
        sum(batch.refused for batch in batches),
        [value for batch in batches for value in batch.residual],
        {name: [value for batch in batches for value in batch.watched[name]] for name in WATCHED},
        [value for batch in batches for value in batch.log_z],
    )
