"""The questions of a run's evolution: questions over texts in FinanceBench's form, or any task that ESM knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from engine.config.config import Config
from engine.errors import ConfigError, Problem
from engine.evolution.minibatch import QuestionSplits, split_questions
from engine.lm.model_server import ModelQuestion
from engine.seeds import derive_seed
from engine.tasks.example import TaskExample
from engine.tasks.financebench import generated_financebench, load_financebench
from engine.tasks.loaders import check_disjoint, configured_examples, configured_task


def load_splits(config: Config) -> QuestionSplits:
    """Pool, validation set and test set. Of a task, the test set comes from its evaluation split and the rest from its
    training split; FinanceBench has one file, which is divided. Raises ConfigError where there are too few."""
    section = config.evolution
    if section.questions == "task":
        return _task_splits(config)
    return split_questions(
        _over_texts(config),
        section.minibatch_size,
        section.validation_size,
        section.test_size,
        config.run.seed,
    )


def prompt_of(example: TaskExample) -> str:
    """The user's message."""
    return str(example.meta["prompt"])


def system_of(example: TaskExample) -> str | None:
    """The system message, if there is one."""
    return example.meta.get("system")


def ask(example: TaskExample, config: Config, iteration: int, suffix: str = "") -> ModelQuestion:
    """The request that puts the question to the model server. `suffix`: a request put after the question."""
    section = config.evolution
    seed = derive_seed(config.run.seed, "evolve", f"answer/{example.id}", iteration)
    prompt = f"{prompt_of(example)}\n\n{suffix}" if suffix else prompt_of(example)
    return ModelQuestion(prompt, section.max_new_tokens, section.temperature, seed, system_of(example))


def _over_texts(config: Config) -> list[TaskExample]:
    """Questions of FinanceBench (all or the chosen lines), or generated ones about invented companies."""
    section = config.evolution
    if section.financebench is not None:
        return load_financebench(section.financebench, None if section.pool == "all" else section.pool)
    return generated_financebench("dev", section.pool_size, config.run.seed)


def _task_splits(config: Config) -> QuestionSplits:
    section, task = config.evolution, config.task
    train = _of_task(config, task.train_split, section.pool_size)
    test = _of_task(config, task.eval_split, section.test_size)
    problems = []
    if len(train) < section.minibatch_size + section.validation_size:
        problems.append(
            Problem(
                "evolution.minibatch_size, evolution.validation_size",
                f"{section.minibatch_size} and {section.validation_size}",
                f"together at most the {len(train)} questions that evolution.pool_size takes from task.train_split "
                f"`{task.train_split}`",
            )
        )
    if len(test) < section.test_size:
        problems.append(
            Problem(
                "evolution.test_size",
                str(section.test_size),
                f"at most the {len(test)} questions of task.eval_split `{task.eval_split}`",
            )
        )
    if problems:
        raise ConfigError(problems)
    check_disjoint(train, test)
    splits = split_questions(train, section.minibatch_size, section.validation_size, 0, config.run.seed)
    return replace(splits, test=test)


def _of_task(config: Config, split: str, size: int) -> list[TaskExample]:
    """A task's examples with what the evolution reads of a question: messages, and all gold answers."""
    section, task = config.task, configured_task(config.task)
    examples: Sequence[TaskExample] = configured_examples(section, split, size, config.run.seed)
    return [
        replace(
            example,
            meta={
                **example.meta,
                "prompt": task.prompt(example, config.prompt.template),
                "system": config.prompt.system,
                "answers": [example.answer],
            },
        )
        for example in examples
    ]
