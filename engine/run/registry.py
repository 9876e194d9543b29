"""From the name of a stage to the stage: its class is imported when it runs."""

from __future__ import annotations

from importlib import import_module

from engine.config.stages import STAGES
from engine.custom_class import imported
from engine.run.stage import Stage


def resolve_stage(name: str) -> Stage:
    """Import and make the stage called `name`. Raises ConfigError for a name that leads nowhere."""
    if name not in STAGES:
        return imported(name, "run.stages")()
    module, _, stage = STAGES[name].target.partition(":")
    return getattr(import_module(module), stage)()
