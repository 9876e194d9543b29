"""Base class and field types of all sections of the configuration."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, model_validator

Name = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$",
        max_length=80,
        json_schema_extra={"words": "letters, digits and . _ - (80 at most, a letter or digit first)"},
    ),
]
PositiveInt = Annotated[int, Field(ge=1)]
NonNegativeInt = Annotated[int, Field(ge=0)]
Finite = Annotated[float, Field(allow_inf_nan=False)]

CustomClass = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*$",
        max_length=200,
        json_schema_extra={"words": "`module:Class` of your own"},
    ),
]
"""A class that the worker imports, beside the built-in kinds: `engine.custom_class`."""

RECORDED = object()
"""The context of validation for what a run or a sweep has recorded, and not a user written."""


class Section(BaseModel):
    """Base of all sections: no unknown fields, no changes after loading, no silent conversions."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, protected_namespaces=())

    OLDER: ClassVar[Mapping[str, Any]] = {}
    """Fields that came later, with values that say what runs did before. A recorded run's configuration names every
    field: where it lacks these, the run is older. See `RECORDED`."""

    FIXED: ClassVar[tuple[str, ...]] = ()
    """Class variables that were fields once. Older runs' own configurations name them, with these values."""

    REMOVED: ClassVar[Mapping[str, Any]] = {}
    """Fields of older runs that nothing reads any more, with the values that they had."""

    INSTEAD: ClassVar[str] = "leave it out"
    """What to do where a file gives one of these another value."""

    @classmethod
    def fixed(cls) -> dict[str, Any]:
        """What was a field once, with its value."""
        return {**cls.REMOVED, **{name: getattr(cls, name) for name in cls.FIXED}}

    def values(self, without: Collection[str] = ()) -> dict[str, Any]:
        """Plain values of all fields, and of what was one once."""
        sections = {name: value.values() for name, value in self if isinstance(value, Section)}
        values = {**self.fixed(), **self.model_dump(), **sections}
        return {name: value for name, value in values.items() if name not in without}

    @model_validator(mode="before")
    @classmethod
    def _reads_older_runs(cls, values: object, info: ValidationInfo) -> object:
        if not isinstance(values, dict):
            return values
        fixed = cls.fixed()
        if changed := [name for name, value in fixed.items() if values.get(name, value) != value]:
            are = ", ".join(f"{name} is {fixed[name]}" for name in changed)
            raise ValueError(f"{are} and can no longer be set: {cls.INSTEAD}")
        values = {name: value for name, value in values.items() if name not in fixed}
        return {**cls.OLDER, **values} if info.context is RECORDED else values
