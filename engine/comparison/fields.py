"""Which fields two runs have otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.config.changes import differing_fields

NO_SETTING = ("run.name", "run.outputs")
"""Where a run is kept, which changes nothing in it."""


@dataclass(frozen=True)
class ChangedField:
    """A field with its values as JSON; empty where a configuration has no such field."""

    name: str
    a: str
    b: str


def changed_fields(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[ChangedField]:
    """The fields that differ, in the order of the configuration. A list counts as one value."""
    differing = differing_fields((a, b)).items()
    return [ChangedField(name, *texts) for name, texts in differing if name not in NO_SETTING]
