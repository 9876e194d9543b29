"""Custom classes and functions, named `module:Class` in a configuration: imported, made, and looked at
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
from functools import partial
from reprlib import Repr
from typing import Any

from engine.environment_secrets import secret_values
from engine.errors import RunError, SteerError, wrong_value

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


class WrongResult(Exception):
    """A class returned what its role has no use for; the text says what, and what would be right."""

    @classmethod
    def of(cls, returned: Any, allowed: str) -> WrongResult:
        """About something that is not what is `allowed`."""
        return cls(f"it returned {shown(returned)}, not {allowed}")


def _with_copied_lists(*arguments: Any) -> tuple[Any, ...]:
    return tuple(list(one) if isinstance(one, list | tuple) else one for one in arguments)


@dataclass(frozen=True)
class Method:
    """A method of a role, and its arguments by position.

    `read`: (what it returned, the class's name, the arguments) -> the result; raises WrongResult. `given`: the
    arguments as the class gets them, copies of what it might change. A failure raises `error`; with `lost`, (why, the
    arguments) -> the result instead. `passed`: what is no failure of the class and is raised as it is. `default`: in
    the place of a method that is left out; without one it is required.
    """

    name: str
    arguments: tuple[str, ...]
    read: Callable[..., Any]
    error: type[SteerError] = RunError
    lost: Callable[..., Any] | None = None
    given: Callable[..., tuple[Any, ...]] = _with_copied_lists
    passed: tuple[type[BaseException], ...] = ()
    default: Callable[..., Any] | None = None

    @property
    def shown(self) -> str:
        """`judge(question, golds, answer)`"""
        return f"{self.name}({', '.join(self.arguments)})"


@dataclass(frozen=True)
class Role:
    """What a class can be used as. `where`: the field that names it."""

    where: str
    methods: tuple[Method, ...]


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


def make_custom(name: str, role: Role) -> Any:
    """An object of the class `name`, which has the methods of `role`. Raises ConfigError."""
    kind = imported(name, role.where)
    if not inspect.isclass(kind):
        raise wrong_value(role.where, name, f"a class; this is a {type(kind).__name__}")
    try:
        instance = kind()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise wrong_value(
            role.where, name, f"a class that is made without arguments; making it failed: {error_text(error)}"
        ) from error
    for method in role.methods:
        function = _attribute(instance, method.name)
        if function is None and method.default is not None:
            continue
        if not callable(function):
            raise wrong_value(role.where, name, f"a class with the method `{method.shown}`; it has none")
        if (signature := _misses(function, method)) is not None:
            raise wrong_value(role.where, name, f"a method `{method.shown}`; this one takes {signature}")
    return instance


def _attribute(instance: Any, name: str) -> Any:
    try:
        return getattr(instance, name, None)
    except BaseException:
        return None


def _misses(function: Callable[..., Any], method: Method) -> str | None:
    """The signature of `function`, if it cannot be called with the method's arguments."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # of a C function: seen when it is called
        return None
    try:
        signature.bind(*method.arguments)
    except TypeError:
        return str(signature)
    return None


class _InRole:
    """An object of a user's class, with the methods of a role: what the class does wrong in one is its failure."""

    def __init__(self, kind: str, role: Role) -> None:
        self._kind, self._role, self._object = kind, role, make_custom(kind, role)
        called = _attribute(self._object, "name")
        self.name = called if isinstance(called, str) and called else kind
        for method in role.methods:
            setattr(self, method.name, partial(self._call, method))

    def _call(self, method: Method, *arguments: Any) -> Any:
        if method.default is not None and _attribute(self._object, method.name) is None:
            return method.default(*arguments)
        try:
            returned = getattr(self._object, method.name)(*method.given(*arguments))
            return method.read(returned, self.name, *arguments)
        except (method.error, *method.passed):
            raise
        except BaseException as error:
            problem = str(error) if isinstance(error, WrongResult) else error_text(error)
            what = f"`{self._kind}` failed in `{method.name}`: {problem}"
            if method.lost is not None:
                return method.lost(f"{what}; {_HINT}", *arguments)
            raise method.error(what=what, where=self._role.where, hint=_HINT) from error


_HINT = "correct the class and resume the run"


def in_role(kind: str, role: Role) -> Any:
    """An object of the class `kind` that is used as the role's protocol. Raises ConfigError."""
    return _InRole(kind, role)


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


def shown(value: Any) -> str:
    """The beginning of a value that a class has returned, which may be of any size and raise when it is asked; `***`
    for secrets of the environment."""
    try:
        return _without_secrets(_BEGINNING.repr(value))
    except BaseException:
        return f"a {type(value).__name__}"
