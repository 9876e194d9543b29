"""The questions a run's evolution draws from."""

from __future__ import annotations

from engine.config.config import Config
from engine.lm.model_server import ModelQuestion
from engine.seeds import derive_seed
from engine.tasks.example import TaskExample
from engine.tasks.financebench import generated_financebench, load_financebench


def load_questions(config: Config) -> list[TaskExample]:
    """Questions of FinanceBench (all or the chosen lines), or generated ones about invented companies."""
    section = config.evolution
    if section.financebench is not None:
        return load_financebench(section.financebench, None if section.pool == "all" else section.pool)
    return generated_financebench("dev", section.pool_size, config.run.seed)


def prompt_of(example: TaskExample) -> str:
    """The user's message."""
    return str(example.meta["prompt"])


def ask(example: TaskExample, config: Config, iteration: int) -> ModelQuestion:
    """The request that puts the question to the model server."""
    section = config.evolution
    seed = derive_seed(config.run.seed, "evolve", f"answer/{example.id}", iteration)
    return ModelQuestion(prompt_of(example), section.max_new_tokens, section.temperature, seed)
