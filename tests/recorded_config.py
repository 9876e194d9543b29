"""A configuration that records which of its fields are read, to compare with what a stage declares.

What cannot be followed field by field (a dump, a pickle for another process, a comparison) counts as reading all of
its section.
"""

from __future__ import annotations

import json
from abc import ABCMeta
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeVar, cast

from pydantic import BaseModel

from engine.config.section import Section

SectionT = TypeVar("SectionT", bound=Section)
Tell = Callable[[Mapping[str, str]], None]
"""Called with the fields that are being read, by their dotted names, and their values as `value_text` gives them."""

_BY_NAME = frozenset(dir(BaseModel)) - {
    "__class__", "__doc__", "__module__", "__slots__", "__pydantic_fields__", "__pydantic_decorators__",
}  # fmt: skip
"""Attributes through which all fields can be read at once."""


def recorded(config: SectionT, tell: Tell) -> SectionT:
    """`config` as a view that calls `tell` before it hands a value out. Equal and of the same type as the original."""
    return _view(config, "", tell)


def all_values(section: Section, above: str = "") -> dict[str, str]:
    """Every field below a section, dotted below `above`, and its value; of a section in a field what it is."""
    values: dict[str, str] = {}
    for name in type(section).model_fields:
        value = getattr(section, name)
        values[f"{above}{name}"] = value_text(value)
        if isinstance(value, Section):
            values |= all_values(value, f"{above}{name}.")
    return values


def value_text(value: Any) -> str:
    """A field's value as one line: JSON, or the name of the section that it holds."""
    if isinstance(value, Section):
        return f"section {type(value).__name__}"
    if isinstance(value, (list, tuple)) and any(isinstance(one, Section) for one in value):
        value = [one.model_dump(mode="json") if isinstance(one, Section) else one for one in value]
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=repr)


# ---------------------------------------------------------------- the view


def _view(origin: SectionT, above: str, tell: Tell) -> SectionT:
    view = object.__new__(_view_class(type(origin)))
    for name, value in (
        ("__dict__", origin.__dict__),  # for what reads it past Python, such as pydantic's serializer
        ("__pydantic_fields_set__", origin.__pydantic_fields_set__),
        ("__pydantic_extra__", None),
        ("__pydantic_private__", None),
        ("_origin", origin),
        ("_above", above),
        ("_tell", tell),
        ("_inner", {}),
    ):
        object.__setattr__(view, name, value)
    return cast("SectionT", view)


@cache
def _view_class(kind: type[Section]) -> type[Section]:
    """A subclass, made past pydantic's metaclass: it has no fields of its own."""
    members = {
        "__slots__": ("_above", "_inner", "_origin", "_tell"),
        "__module__": kind.__module__,
        "__qualname__": kind.__qualname__,
        "__doc__": kind.__doc__,
        "__getattribute__": _get,
        "__eq__": lambda self, other: _whole(self) == _whole(other),
        "__hash__": lambda self: hash(_whole(self)),
        "__repr__": lambda self: repr(_whole(self)),
        "__iter__": lambda self: iter(_whole(self)),
        "__copy__": lambda self: _whole(self).__copy__(),
        "__deepcopy__": lambda self, memo=None: _whole(self).__deepcopy__(memo),
        "__reduce_ex__": lambda self, protocol: (_as_it_is, (_whole(self),)),
    }
    return cast("type[Section]", ABCMeta.__new__(type(kind), kind.__name__, (kind,), members))


def _get(view: Section, name: str) -> Any:
    """`view.name`, once it has been told."""
    own = object.__getattribute__
    if name in type(view).__pydantic_fields__:
        value = own(view, "_origin").__dict__[name]
        path, tell = f"{own(view, '_above')}{name}", own(view, "_tell")
        tell({path: value_text(value)})
        if not isinstance(value, Section):
            return value
        inner = own(view, "_inner")
        if name not in inner:
            inner[name] = _view(value, f"{path}.", tell)
        return inner[name]
    if name in _BY_NAME:
        _whole(view)
    return own(view, name)


def _whole(view: Any) -> Any:
    """The original, all of whose fields count as read; anything else as it is."""
    own = object.__getattribute__
    if not hasattr(type(view), "_tell"):
        return view
    origin = own(view, "_origin")
    own(view, "_tell")(all_values(origin, own(view, "_above")))
    return origin


def _as_it_is(section: SectionT) -> SectionT:
    """What a pickled view becomes: another process tells nobody what it reads."""
    return section
