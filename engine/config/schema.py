"""The schema of the configuration: which fields there are, and which values they take, in words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from engine.config.config import Config

Schema = dict[str, Any]
Location = tuple[str | int, ...]

SCHEMA: Schema = Config.model_json_schema()


def all_fields(schema: Schema, before: str = "") -> Iterable[str]:
    """The names of all sections and fields, dotted."""
    for name, below in resolved(schema).get("properties", {}).items():
        yield f"{before}{name}"
        yield from all_fields(below, f"{before}{name}.")


def schema_at(place: Location) -> Schema | None:
    """The schema of a field or section, None where there is none."""
    schema = SCHEMA
    for key in place:
        below = [_child(alternative, key) for alternative in schema.get("anyOf", [schema])]
        child = next((child for child in below if child is not None), None)
        if child is None:
            return None
        schema = resolved(child)
    return schema


def _child(schema: Schema, key: str | int) -> Schema | None:
    schema = resolved(schema)
    of_any_name = schema.get("additionalProperties") or None
    return schema.get("items") if isinstance(key, int) else schema.get("properties", {}).get(key, of_any_name)


def resolved(schema: Schema) -> Schema:
    """What a reference refers to."""
    if "$ref" in schema:
        return SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]]
    return schema


def allowed_words(schema: Schema) -> str:
    """The values that a JSON schema allows, in words."""
    schema = resolved(schema)
    if "anyOf" in schema:
        return " or ".join(map(allowed_words, schema["anyOf"]))
    if "enum" in schema or "const" in schema:
        return "one of " + ", ".join(map(str, schema.get("enum", [schema.get("const")])))
    kind = schema.get("type")
    if kind in ("integer", "number"):
        return _allowed_number(schema, "a whole number" if kind == "integer" else "a finite number")
    if kind == "array":
        least = f" (at least {schema['minItems']})" if "minItems" in schema else ""
        return f"a list{least}, each {allowed_words(schema.get('items', {}))}"
    if kind == "object":
        return "a mapping of " + (", ".join(schema.get("properties", {})) or "names to values")
    return _allowed_text(schema) if kind == "string" else _PLAIN.get(str(kind), "a value")


_PLAIN = {"boolean": "true or false", "null": "null"}


def _allowed_number(schema: Schema, noun: str) -> str:
    bounds = [
        f"{words} {schema[key]:g}"
        for key, words in (
            ("minimum", "at least"),
            ("exclusiveMinimum", "above"),
            ("maximum", "at most"),
            ("exclusiveMaximum", "below"),
        )
        if key in schema
    ]
    return " ".join([noun, " and ".join(bounds)]).strip()


def _allowed_text(schema: Schema) -> str:
    if "words" in schema:
        return str(schema["words"])
    return "text, not empty" if schema.get("minLength") else "text"
