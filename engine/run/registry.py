"""From the name of a stage to the stage: its class is imported when it runs."""

from __future__ import annotations

from importlib import import_module

from engine.config.stages import STAGES, is_known, known_stages
from engine.errors import ConfigError, Problem
from engine.run.stage import Stage


def resolve_stage(name: str) -> Stage:
    """Import and make the stage called `name`. Raises ConfigError for a name that leads nowhere."""
    if not is_known(name):
        raise ConfigError([Problem("run.stages", name, known_stages(name))])
    target = STAGES[name].target if name in STAGES else name
    module_name, _, class_name = target.partition(":")
    try:
        module = import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise
        allowed = f"an importable module; there is no `{error.name}`"
        raise ConfigError([Problem("run.stages", name, allowed)]) from error
    try:
        return getattr(module, class_name)()
    except AttributeError as error:
        if hasattr(module, class_name):
            raise
        allowed = f"a class of `{module_name}`; it has no `{class_name}`"
        raise ConfigError([Problem("run.stages", name, allowed)]) from error
