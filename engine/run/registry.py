"""From the name of a stage to the stage: its class is imported when it runs."""

from __future__ import annotations

from importlib import import_module

from engine.config.stages import STAGES, is_known, known_stages
from engine.custom_class import imported
from engine.errors import wrong_value
from engine.run.stage import Stage


def resolve_stage(name: str) -> Stage:
    """Import and make the stage called `name`. Raises ConfigError for a name that leads nowhere."""
    if not is_known(name):
        raise wrong_value("run.stages", name, known_stages(name))
    if name not in STAGES:
        return imported(name, "run.stages")()
    module, _, stage = STAGES[name].target.partition(":")
    return getattr(import_module(module), stage)()
