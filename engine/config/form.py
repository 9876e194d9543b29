"""The configuration as a form: its sections, their fields, and what each field is, does and takes. Data only."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from engine.config.config import Config
from engine.config.method import MethodSections
from engine.config.schema import SCHEMA, Schema, allowed_words, resolved
from engine.config.stages import STAGES

Kind = Literal["flag", "choice", "whole number", "number", "text", "list", "mapping"]
_KINDS: dict[str, Kind] = {
    "boolean": "flag", "integer": "whole number", "number": "number", "array": "list", "object": "mapping",
}  # fmt: skip


@dataclass(frozen=True)
class FormField:
    """`path`: dotted; `allowed`: its values in words; `choices`: of a flag or choice, as they are typed; `default`: as
    it is typed."""

    path: str
    kind: Kind
    default: str
    help: str
    allowed: str
    choices: tuple[str, ...] = ()

    @property
    def section(self) -> str:
        """The part of the path before the field's own name."""
        return self.path.rpartition(".")[0]


@cache
def form_fields() -> tuple[FormField, ...]:
    """Every field, section by section, but for the list of stages; of sections that may be left out, too."""
    return tuple(field for field in _fields(SCHEMA, "") if field.path != "run.stages")


def _fields(schema: Schema, above: str) -> Iterator[FormField]:
    properties = resolved(schema).get("properties", {})
    sections = {name: _section(below) for name, below in properties.items()}
    for name, below in properties.items():
        if sections[name] is None:
            yield _field(f"{above}{name}", below)
    for name, section in sections.items():
        if section is not None:
            yield from _fields(section, f"{above}{name}.")


def _section(schema: Schema) -> Schema | None:
    """The section that a field holds, also one that may be null."""
    for one in schema.get("anyOf", [schema]):
        if "properties" in resolved(one):
            return resolved(one)
    return None


def _field(path: str, schema: Schema) -> FormField:
    kind, choices = _kind(schema)
    default = as_typed(schema.get("default"))
    return FormField(path, kind, default, schema.get("description", ""), allowed_words(schema), choices)


def _kind(schema: Schema) -> tuple[Kind, tuple[str, ...]]:
    schema = resolved(schema)
    named = [one for one in schema.get("anyOf", [schema]) if "enum" in one]
    if named:
        return "choice", tuple(as_typed(value) for value in named[0]["enum"])
    alternatives = [one for one in schema.get("anyOf", [schema]) if resolved(one).get("type") != "null"]
    kind = _KINDS.get(str(resolved(alternatives[0]).get("type")), "text")
    return kind, ("true", "false") if kind == "flag" else ()


def as_typed(value: Any) -> str:
    """A value as it is typed behind `field=`: YAML on one line. Texts that read as themselves have no quotes."""
    if not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return value if _reads_as_itself(value) else json.dumps(value, ensure_ascii=False)


def _reads_as_itself(text: str) -> bool:
    from engine.config import yaml_text

    try:
        return yaml_text.parse(text).value == text
    except yaml_text.YamlError:
        return False


def value_at(config: Mapping[str, Any], path: str) -> Any:
    """The value of a field in a plain configuration. Raises KeyError below a section that is left out."""
    value: Any = config
    for name in path.split("."):
        if not isinstance(value, Mapping):
            raise KeyError(path)
        value = value[name]
    return value


@cache
def sections_by_stage() -> dict[str, frozenset[str]]:
    """The top sections that each method declares, under each of its stages: roughly what the stage reads. Sections of
    no method (run, model, scale) are everyone's."""
    methods = [base for base in Config.__mro__ if issubclass(base, MethodSections) and base.__annotations__]
    return {
        entry.name: frozenset(base.__annotations__) - {"stage_entries"}
        for base in methods
        for entry in base.stage_entries
    }


def stage_names() -> tuple[str, ...]:
    """All stages that methods declare, in the order in which they run."""
    return tuple(STAGES)
