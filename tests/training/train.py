"""Trains the embedded model. Killed at any step and started again, it ends with the same weights."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from engine.torch_file import torch_threads
from engine.training_state import TrainingState
from tests.training.corpus import Batch, Corpus
from tests.training.network import build_model
from tests.training.recipes import Recipe
from tests.training.settings import TrainingSettings
from tests.training.tokenizer import build_tokenizer, save_tokenizer

STATE_FILE = "training_state.pt"
MODEL_FOLDER = "model"


@dataclass(frozen=True)
class Progress:
    """Where training stands. loss: weighted mean over the steps since the last report, in nats per token."""

    step: int
    total: int
    loss: float
    tokens_per_second: float


def train(
    recipe: Recipe,
    folder: Path,
    report: Callable[[Progress], None],
    checkpoint: Callable[[], None] = lambda: None,
) -> Path:
    """Trains a recipe to the end, or goes on from the state in `folder`; returns the trained model's folder.

    checkpoint: called after every step; may block (pause) or raise (stop). What it raises passes through after the
    state has been saved.
    """
    settings = recipe.settings
    tokenizer = build_tokenizer(recipe.formats, recipe.vocabulary, seed=settings.seed)
    corpus = Corpus(tokenizer, recipe, settings.batch_documents, settings.steps, settings.seed)
    model = build_model(settings, tokenizer)
    run = _Run(recipe, model, folder / STATE_FILE)
    run.restore()
    with torch_threads(settings.threads):
        _loop(run, corpus, report, checkpoint)
    return save_model(model, tokenizer, folder / MODEL_FOLDER)


def save_model(model: Any, tokenizer: Any, folder: Path) -> Path:
    """Writes what transformers needs to load both; returns `folder`."""
    model.eval()
    model.save_pretrained(folder)
    save_tokenizer(tokenizer, folder)
    return folder


class _Run:
    """Model, optimizer and step count, and their file."""

    def __init__(self, recipe: Recipe, model: Any, path: Path) -> None:
        self.settings = recipe.settings
        self.model = model
        self.step = 0
        self.optimizer = _optimizer(recipe.settings, model)
        self._state = TrainingState(
            path,
            "the saved training state",
            shape={"recipe": recipe.name, **_deciding(recipe.settings)},
            parts={"model": model, "optimizer": self.optimizer},
            hint="continue with the settings it was started with, or train into another folder",
        )

    def restore(self) -> None:
        """Takes over the saved state, if there is one. Raises DataError if its settings differ."""
        self.step = self._state.restore({"step": self.step})["step"]

    def save(self) -> None:
        """Writes everything the rest of training depends on, in one file, atomically.

        No generator's state is among it: documents are drawn by batch number and the model has no dropout.
        """
        self._state.save({"step": self.step})


def _loop(
    run: _Run, corpus: Corpus, report: Callable[[Progress], None], checkpoint: Callable[[], None]
) -> None:
    settings, meter = run.settings, _Meter()
    run.model.train()
    while run.step < settings.steps:
        batch = corpus.batch(run.step)
        meter.add(_update(run, batch), batch.size)
        run.step += 1
        last = run.step == settings.steps
        if last or run.step % settings.report_every == 0:
            report(Progress(run.step, settings.steps, *meter.read()))
        if last or run.step % settings.save_every == 0:
            run.save()
        try:
            checkpoint()
        except BaseException:
            run.save()
            raise


def _update(run: _Run, batch: Batch) -> float:
    """One optimizer step; returns its loss."""
    for group in run.optimizer.param_groups:
        group["lr"] = learning_rate(run.settings, run.step)
    run.optimizer.zero_grad(set_to_none=True)
    logits = run.model(input_ids=batch.tokens, use_cache=False).logits
    loss = weighted_loss(logits, batch)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(run.model.parameters(), run.settings.gradient_clip)
    run.optimizer.step()
    return float(loss.detach())


def weighted_loss(logits: Tensor, batch: Batch) -> Tensor:
    """Mean next-token cross-entropy in nats, weighted; logits (documents, positions, vocabulary)."""
    losses = cross_entropy(logits[:, :-1].flatten(0, 1), batch.tokens[:, 1:].flatten(), reduction="none")
    weights = batch.weights[:, 1:].flatten()
    return (losses * weights).sum() / weights.sum()


def learning_rate(settings: TrainingSettings, step: int) -> float:
    """Linear warm-up, then a cosine down to 2% of the peak."""
    if step < settings.warmup_steps:
        return settings.learning_rate * (step + 1) / settings.warmup_steps
    done = (step - settings.warmup_steps) / max(1, settings.steps - settings.warmup_steps)
    return settings.learning_rate * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * done)))


def _optimizer(settings: TrainingSettings, model: Any) -> torch.optim.AdamW:
    parameters = list(model.parameters())
    groups = [
        {"params": [p for p in parameters if p.dim() > 1], "weight_decay": settings.weight_decay},
        {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=settings.learning_rate, betas=(0.9, 0.98))


def _deciding(settings: TrainingSettings) -> dict[str, Any]:
    """The settings on which the weights depend."""
    return settings.model_dump(exclude={"threads", "report_every", "save_every"})


class _Meter:
    """Mean loss and speed since it was last read."""

    def __init__(self) -> None:
        self._restart()

    def _restart(self) -> None:
        self._began, self._loss, self._steps, self._tokens = time.perf_counter(), 0.0, 0, 0

    def add(self, loss: float, tokens: int) -> None:
        self._loss += loss
        self._steps += 1
        self._tokens += tokens

    def read(self) -> tuple[float, float]:
        """(mean loss, tokens per second), and starts anew."""
        speed = self._tokens / max(time.perf_counter() - self._began, 1e-9)
        loss = self._loss / max(self._steps, 1)
        self._restart()
        return loss, speed
