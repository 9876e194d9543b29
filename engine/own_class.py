"""Classes and functions of the user's own, named `module:Class` in a configuration: imported, made, and looked at
before anything depends on them.

A class is made without arguments. Its module has to be importable where it is used: an installed package, or a folder
in PYTHONPATH. Only name code that you trust: it runs in the worker.
"""

from __future__ import annotations

import importlib
import inspect
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from reprlib import Repr
from typing import Any, TypedDict

from engine.environment_secrets import secret_values
from engine.errors import ConfigError, Problem

_MOST_SHOWN = 80


class _Beginning(Repr):
    """Secrets are taken out before a text is cut: a part of a key is too much."""

    def repr_str(self, x: str, level: int) -> str:
        return super().repr_str(_without_secrets(x), level)

    def repr_instance(self, x: object, level: int) -> str:
        """Of a value of any other class, bytes as well."""
        text = _without_secrets(repr(x))
        return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 1]}…"


_BEGINNING = _Beginning()
_BEGINNING.maxstring = _MOST_SHOWN


@dataclass(frozen=True)
class Method:
    """A method and its arguments by position; one that is not `required` may be left out."""

    name: str
    arguments: tuple[str, ...]
    required: bool = True

    @property
    def shown(self) -> str:
        """`judge(question, golds, answer)`"""
        return f"{self.name}({', '.join(self.arguments)})"


@dataclass(frozen=True)
class Role:
    """What a class can be used as. `where`: the field that names it."""

    where: str
    methods: tuple[Method, ...]


def is_own(kind: str) -> bool:
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
            allowed = f"a module that can be imported; importing it failed: {told(error)}"
        raise ConfigError([Problem(where, name, allowed)]) from error
    if not hasattr(module, attribute):
        found = [n for n, value in vars(module).items() if callable(value) and not n.startswith("_")]
        has = f"it has {', '.join(found[:8])}" if found else "it has none"
        raise ConfigError([Problem(where, name, f"a name of the module `{module_name}`; {has}")])
    return getattr(module, attribute)


def make_own(name: str, role: Role) -> Any:
    """An object of the class `name`, which has the methods of `role`. Raises ConfigError."""
    kind = imported(name, role.where)
    if not inspect.isclass(kind):
        raise _unfit(name, role, f"a class; this is a {type(kind).__name__}")
    try:
        own = kind()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise _unfit(
            name, role, f"a class that is made without arguments; making it failed: {told(error)}"
        ) from error
    for method in role.methods:
        found = _attribute(own, method.name)
        if found is None and not method.required:
            continue
        if not callable(found):
            raise _unfit(name, role, f"a class with the method `{method.shown}`; it has none")
        if (signature := _misses(found, method)) is not None:
            raise _unfit(name, role, f"a method `{method.shown}`; this one takes {signature}")
    return own


def _attribute(own: Any, name: str) -> Any:
    try:
        return getattr(own, name, None)
    except BaseException:
        return None


def _misses(found: Callable[..., Any], method: Method) -> str | None:
    """The signature of `found`, if it cannot be called with the method's arguments."""
    try:
        signature = inspect.signature(found)
    except (TypeError, ValueError):  # of a C function: seen when it is called
        return None
    try:
        signature.bind(*method.arguments)
    except TypeError:
        return str(signature)
    return None


def _unfit(name: str, role: Role, allowed: str) -> ConfigError:
    return ConfigError([Problem(role.where, name, allowed)])


def name_of(own: Any, name: str) -> str:
    """What it calls itself, else `name`."""
    called = _attribute(own, "name")
    return called if isinstance(called, str) and called else name


def told(error: BaseException) -> str:
    """An error with the line that raised it: `ValueError: no (mine.py:12)`; `***` for secrets of the environment."""
    frames = traceback.extract_tb(error.__traceback__)
    at = f" ({frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno})" if frames else ""
    try:
        said = str(error)
    except BaseException:
        said = "it cannot say why"
    return f"{type(error).__name__}: {_without_secrets(said)}{at}"


def _without_secrets(text: str) -> str:
    for secret in secret_values():
        text = text.replace(secret, "***")
    return text


def shown(value: Any) -> str:
    """The beginning of a value that a class has returned, which may be of any size and raise when it is asked; `***`
    for secrets of the environment."""
    try:
        return _without_secrets(_BEGINNING.repr(value))
    except BaseException:
        return f"a {type(value).__name__}"


class Misuse(TypedDict):
    """Parts of a SteerError."""

    what: str
    where: str
    mend: str


def misuse(name: str, role: Role, method: str, problem: str) -> Misuse:
    """About what `method` did."""
    return Misuse(
        what=f"`{name}` failed in `{method}`: {problem}",
        where=role.where,
        mend="correct the class and resume the run; `steer-tui check-class` tries it out",
    )
