"""Check what a configuration needs, without running anything: what is here, what is not here yet, what is wrong."""

from __future__ import annotations

from collections.abc import Iterator

from engine.check.custom_classes import check_custom_classes
from engine.check.data import check_data
from engine.check.finding import Finding
from engine.check.requirements import check_requirements
from engine.config.config import Config
from engine.config.stages import STAGES


def check_config(config: Config) -> Iterator[Finding]:
    """A finding for each thing that the stages of `config` use; nothing is fetched or loaded, and no server is asked.

    All fields are valid (`load_config` raises for others).
    """
    yield from _stages(config)
    yield from check_requirements(config)
    yield from check_data(config)
    yield from check_custom_classes(config)


def _stages(config: Config) -> Iterator[Finding]:
    names = config.run.stages
    yield Finding("here", ", ".join(names), "run.stages")
    for name in names:
        lacking = [need for need in STAGES[name].needs if need not in names] if name in STAGES else []
        for need in lacking:
            yield Finding(
                "absent",
                f"`{name}` reads files that `{need}` writes, which is not among the stages",
                "run.stages",
                f"put `{need}` before it, or run it in a run that has it: steer-tui batch --resume RUN --stages {name}",
            )
