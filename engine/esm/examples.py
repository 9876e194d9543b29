"""The examples a run mines and evaluates."""

from __future__ import annotations

from engine.config.config import Config
from engine.tasks.example import TaskExample
from engine.tasks.loaders import load_task_dataset


def training_examples(config: Config) -> list[TaskExample]:
    """What `mine` works on."""
    task = config.task
    return load_task_dataset(
        task.dataset, task.path, task.train_split, task.train_size, seed=config.run.seed, shuffle=task.shuffle
    )


def evaluation_examples(config: Config) -> list[TaskExample]:
    """What `eval` works on."""
    task = config.task
    return load_task_dataset(
        task.dataset, task.path, task.eval_split, task.eval_size, seed=config.run.seed, shuffle=task.shuffle
    )
