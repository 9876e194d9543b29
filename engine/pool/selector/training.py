"""The selector's training, step by step; a resumed training repeats the same curve.

Supervised steps raise the probability of recorded trajectories with a score; policy-gradient steps compare them, and
pairs that the selector draws. Data order and draws follow from (run seed, query, step), so no position is saved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from engine.config.pool import SelectorSection
from engine.errors import DataError
from engine.events import SelectorStep
from engine.pool.selector.rl_beam_dataset import BeamBatch, RLBeamDatasetWithEmbedding
from engine.pool.selector.selector import Selector, pairs_log_probability
from engine.pool.vqa.evaluated_pairs import EvaluatedPair
from engine.pool.vqa.vqa import VQAAsk
from engine.seeds import epoch_items, generator
from engine.training_state import TrainingState

STAGE = "selector"
SUPERVISED, POLICY_GRADIENT = "supervised", "policy_gradient"
_IMPOSSIBLE = -1e9
"""Log-probability of masked entries; finite, so that their gradient is 0 and not NaN."""

Ask = Callable[[Sequence[VQAAsk]], Sequence[EvaluatedPair]]


@dataclass(frozen=True)
class Group:
    """Trajectories of each query of a batch: `log_probability`, `score` and `mask`, all [B, T]; the selector drew the
    last `drawn` of each query."""

    log_probability: Tensor
    score: Tensor
    mask: Tensor
    drawn: int = 0

    def among(self) -> Tensor:
        """[B, T]: log-probabilities, renormalised within each group."""
        return self.log_probability.masked_fill(~self.mask, _IMPOSSIBLE).log_softmax(-1)

    def expected_score(self) -> Tensor:
        """[B]: expected score of a pick within each group; 0 for an empty group."""
        return (self.among().exp() * self.score * self.mask).sum(-1)


def supervised_loss(group: Group) -> Tensor:
    """Minus the log of the expected score of a pick from the whole pool, with 0 for unrecorded pairs; mean over the
    queries with any positive score, 0 without such a query."""
    useful = group.mask & (group.score > 0)
    weighted = group.log_probability + group.score.clamp(min=1e-6).log()
    weighted = weighted.masked_fill(~useful, _IMPOSSIBLE)
    return -weighted.logsumexp(-1)[useful.any(-1)].sum() / max(1, int(useful.any(-1).sum()))


def policy_gradient_loss(group: Group) -> Tensor:
    """A loss with minus the gradient of the expected score within each group: log-probabilities weighted by score minus
    the group's expected score (minimum risk training, Shen et al. 2016, eq. 13)."""
    with torch.no_grad():
        baseline = group.expected_score()[:, None]
        weight = group.among().exp() * (group.score - baseline) * group.mask
    return -(weight * group.log_probability.masked_fill(~group.mask, 0)).sum(-1).mean()


class SelectorTraining:
    """Selector, optimiser and step, with their checkpoint file."""

    def __init__(
        self,
        selector: Selector,
        data: RLBeamDatasetWithEmbedding,
        section: SelectorSection,
        run_seed: int,
        path: Path,
        ask: Ask,
    ) -> None:
        """`ask` evaluates pairs that the selector draws."""
        self.selector = selector
        self.section = section
        self.step = 0
        self.steps = section.supervised_steps + section.policy_steps
        self._data = data
        self._run_seed = run_seed
        self._ask = ask
        not_training = {"random_pairs", "oracle_pairs", "log_every", "eval_every", "checkpoint_every"}
        self.optimizer = torch.optim.AdamW(
            selector.parameters(), lr=section.learning_rate, weight_decay=section.weight_decay
        )
        self._state = TrainingState(
            path,
            "the selector's checkpoint",
            shape={"embedding_width": selector.width, "queries": len(data), **section.values(not_training)},
            parts={"selector": selector, "optimizer": self.optimizer},
            hint="resume with the original settings and data, or start a new run",
        )

    def restore(self) -> None:
        """Load the checkpoint, if any. Raises DataError for a checkpoint of other settings."""
        self.step = self._state.restore({"step": self.step})["step"]

    def save(self) -> None:
        """Write everything that the rest of the training depends on."""
        self._state.save({"step": self.step})

    # ------------------------------------------------------------ a step

    def update(self) -> SelectorStep:
        """Take a training step and report it. Errors of `ask` leave the weights unchanged. Raises DataError if the loss
        is not finite."""
        supervised = self.step < self.section.supervised_steps
        numbers = epoch_items(self._run_seed, STAGE, len(self._data), self.section.batch_size, self.step)
        batch = self._data.batch(numbers)
        log_probabilities = self.selector(batch.query_emb, batch.cand_emb)
        group = recorded(batch, log_probabilities)
        if not supervised and self.section.rollouts:
            group = self._with_rollouts(batch, log_probabilities, group)
        loss = supervised_loss(group) if supervised else policy_gradient_loss(group)
        rate = self.section.learning_rate if supervised else self.section.policy_learning_rate
        for parameters in self.optimizer.param_groups:
            parameters["lr"] = rate
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(self.selector.parameters(), self.section.grad_clip)
        if not bool(torch.isfinite(loss) & torch.isfinite(norm)):
            raise DataError(
                what="the selector's training diverged", where="pool.files",
                hint="scale the embeddings to smaller numbers, and start a new run",
            )  # fmt: skip
        self.optimizer.step()
        self.step += 1
        trained = group.mask.any(-1)
        return SelectorStep(
            step=self.step,
            steps=self.steps,
            phase=SUPERVISED if supervised else POLICY_GRADIENT,
            loss=float(loss.detach()),
            expected_score=float(group.expected_score().detach()[trained].mean()) if trained.any() else 0.0,
            gradient_norm=float(norm),
            pairs=int(group.mask.sum()),
            drawn=group.drawn * len(batch.query_ids),
        )

    def _with_rollouts(self, batch: BeamBatch, log_probabilities: Tensor, group: Group) -> Group:
        """The group with newly evaluated pairs, drawn from the policy without repetition."""
        drawn = self._draw(batch, log_probabilities.detach(), group.mask)
        asks = [
            VQAAsk(query_id, (int(pool[first]), int(pool[last])))
            for query_id, pool, pairs in zip(batch.query_ids, batch.pools, drawn.tolist(), strict=True)
            for first, last in pairs
        ]
        scores = [evaluated.score for evaluated in self._ask(asks)]
        shape = drawn.shape[:2]
        mask = torch.tensor([score is not None for score in scores]).reshape(shape)
        return Group(
            torch.cat([group.log_probability, pairs_log_probability(log_probabilities, drawn)], 1),
            torch.cat([group.score, torch.tensor([score or 0.0 for score in scores]).reshape(shape)], 1),
            torch.cat([group.mask, mask], 1),
            drawn=shape[1],
        )

    def _draw(self, batch: BeamBatch, log_probabilities: Tensor, mask: Tensor) -> Tensor:
        """Unrecorded pairs [B, rollouts, 2] with the largest log-probability plus Gumbel noise: a draw without
        replacement (Kool et al. 2019)."""
        size = log_probabilities.shape[-1]
        noise = np.stack(
            [
                generator(self._run_seed, STAGE, f"rollouts {name}", self.step).gumbel(size=(size, size))
                for name in batch.query_ids
            ]
        )
        keys = log_probabilities.double() + torch.from_numpy(noise)
        query, place = mask.nonzero(as_tuple=True)
        first, last = batch.beam_labels[query, place].unbind(-1)
        keys[query, first, last] = float("-inf")
        best = keys.flatten(1).topk(self.section.rollouts).indices
        return torch.stack([best // size, best % size], dim=-1)


def recorded(batch: BeamBatch, log_probabilities: Tensor) -> Group:
    """The data's distinct trajectories, without those that point to a candidate twice, which cannot be picked."""
    labels = batch.beam_labels
    code = labels[..., 0] * log_probabilities.shape[-1] + labels[..., 1]
    same = (code[:, :, None] == code[:, None, :]) & batch.beam_mask[:, None, :]
    repeated = same.tril(-1).any(-1)
    mask = batch.beam_mask & (labels[..., 0] != labels[..., 1]) & ~repeated
    log_probability = pairs_log_probability(log_probabilities, labels).masked_fill(~mask, _IMPOSSIBLE)
    return Group(log_probability, batch.beam_scores, mask)
