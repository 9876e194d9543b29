"""The judge that a configuration names, where it needs no server."""

from __future__ import annotations

from engine.config.config import Config
from engine.custom_class import is_custom, make_custom
from engine.evolution.judges.judge import Judge
from engine.evolution.judges.numeric_judge import NumericJudge
from engine.evolution.judges.task_judge import TaskJudge
from engine.tasks.loaders import configured_task


def offline_judge(config: Config) -> Judge | None:
    """The judge, or None where a language model judges."""
    section = config.evolution
    if section.judge_kind == "openai":
        return None
    if is_custom(section.judge_kind):
        return make_custom(section.judge_kind, "evolution.judge.kind", Judge)
    if section.judge_kind == "task":
        return TaskJudge(configured_task(config.task))
    return NumericJudge(section.judge.tolerance)
