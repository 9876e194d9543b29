"""Custom classes and functions, named `module:Class` in a configuration: imported, made, and looked at
before anything depends on them.

A class is made without arguments, and has what the built-in ones have. Its module has to be importable where it is
used: an installed package, or a folder in PYTHONPATH. Only name code that you trust: it runs in the worker.
"""

from __future__ import annotations

import importlib
import traceback
from typing import Any

from engine.environment_secrets import secret_values
from engine.errors import wrong_value


def is_custom(kind: str) -> bool:
    """Whether a kind names a class rather than a built-in."""
    return ":" in kind


def imported(name: str, where: str) -> Any:
    """What `module:name` refers to. Raises ConfigError naming the field `where`."""
    module_name, _, attribute = name.partition(":")
    try:
        module = importlib.import_module(module_name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # the user's module may do anything while it is imported
        if isinstance(error, ModuleNotFoundError) and f"{module_name}.".startswith(f"{error.name}."):
            allowed = (
                f"a module that can be imported; there is no `{error.name}` (put its folder into PYTHONPATH)"
            )
        else:
            allowed = f"a module that can be imported; importing it failed: {error_text(error)}"
        raise wrong_value(where, name, allowed) from error
    if not hasattr(module, attribute):
        names = [n for n, value in vars(module).items() if callable(value) and not n.startswith("_")]
        has = f"it has {', '.join(names[:8])}" if names else "it has none"
        raise wrong_value(where, name, f"a name of the module `{module_name}`; {has}")
    return getattr(module, attribute)


def make_custom(name: str, where: str, protocol: type) -> Any:
    """An object of the class `name`, which has all that `protocol` has. Raises ConfigError naming the field `where`."""
    kind = imported(name, where)
    try:
        made = kind()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        allowed = f"a class that is made without arguments; making it failed: {error_text(error)}"
        raise wrong_value(where, name, allowed) from error
    members = (*protocol.__annotations__, *vars(protocol))
    missing = [f"`{member}`" for member in members if member[0] != "_" and not hasattr(made, member)]
    if missing:
        has = f"`{protocol.__name__}` in {protocol.__module__}"
        raise wrong_value(where, name, f"a class with {', '.join(missing)}, as {has} describes")
    return made


def error_text(error: BaseException) -> str:
    """An error with the line that raised it: `ValueError: no (mine.py:12)`; `***` for secrets of the environment."""
    frames = traceback.extract_tb(error.__traceback__)
    at = f" ({frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno})" if frames else ""
    try:
        text = str(error)
    except BaseException:
        text = "it cannot say why"
    return f"{type(error).__name__}: {_without_secrets(text)}{at}"


def _without_secrets(text: str) -> str:
    for secret in secret_values():
        text = text.replace(secret, "***")
    return text
