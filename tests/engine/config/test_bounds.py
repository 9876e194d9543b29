"""What each setting may be: its bounds are part of what a configuration means.

python -m tests.engine.config.test_bounds     # write the file anew, for a setting that is new
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from engine.config.config import Config

RECORDED = Path(__file__).with_name("bounds.json")
SIGNS = {
    "minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<", "minLength": "length ≥",
    "maxLength": "length ≤", "minItems": "items ≥", "maxItems": "items ≤", "pattern": "matches", "enum": "one of",
    "const": "is",
}  # fmt: skip
SCHEMA = Config.model_json_schema()


def settings(section: dict[str, Any], above: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Each setting's name and schema, those of sections that may be left out, too."""
    for name, found in section["properties"].items():
        forms = [form["$ref"] for form in (found, *found.get("anyOf", ())) if "$ref" in form]
        if forms:
            yield from settings(SCHEMA["$defs"][forms[0].rpartition("/")[2]], f"{above}{name}.")
        else:
            yield above + name, found


def bounds(found: dict[str, Any]) -> str:
    """In words, also those of what it holds, or may be otherwise."""
    own = [found.get("type", ""), *(f"{SIGNS[key]} {value}" for key, value in found.items() if key in SIGNS)]
    if isinstance(found.get("items"), dict):
        own.append(f"of {bounds(found['items'])}")
    return " ".join([" ".join(own), " or ".join(map(bounds, found.get("anyOf", ())))]).strip()


def test_they_are_those_that_were_recorded() -> None:
    assert {name: bounds(found) for name, found in settings(SCHEMA)} == json.loads(RECORDED.read_text())


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_no_number_is_infinite_or_not_a_number(value: float) -> None:
    numbers = [name for name, found in settings(SCHEMA) if "number" in bounds(found)]
    assert len(numbers) >= 67
    for name in numbers:
        changed: Any = value
        for key in reversed(name.split(".")):
            changed = {key: changed}
        with pytest.raises(ValidationError):
            Config.model_validate(changed)


def test_the_quotas_may_fill_the_trajectories_but_not_exceed_them() -> None:
    pool = {"target_trajectory_count": 12, "positive_quota": 8, "partial_quota": 4}
    assert Config.model_validate({"pool": pool}).pool.partial_quota == 4
    with pytest.raises(ValidationError, match="more than target_trajectory_count together"):
        Config.model_validate({"pool": pool | {"partial_quota": 5}})


if __name__ == "__main__":
    recorded = {name: bounds(found) for name, found in settings(SCHEMA)}
    RECORDED.write_text(json.dumps(recorded, indent=1, ensure_ascii=False) + "\n")
