"""Which fields configurations have otherwise. All are plain (`model_dump(mode="json")`)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

_MISSING = object()


def changed_fields(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of `after` whose values are not those of `before`, dotted: `{"online.L": 4}`; None where it has
    none."""
    return {name: json.loads(text or "null") for name, (_, text) in differing_fields((before, after)).items()}


def differing_fields(configs: Sequence[Mapping[str, Any]]) -> dict[str, tuple[str, ...]]:
    """The fields that any two configurations have otherwise, each with its value in every configuration as JSON, empty
    where there is none."""
    return dict(_differing(configs, ""))


def _differing(sections: Sequence[Mapping[str, Any]], above: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    for name in dict.fromkeys(name for section in sections for name in section):
        values = [section.get(name, _MISSING) for section in sections]
        if len({value is _MISSING or msgspec.json.encode(value) for value in values}) == 1:
            continue
        if all(value is _MISSING or isinstance(value, Mapping) for value in values):
            parts = [value if isinstance(value, Mapping) else {} for value in values]
            yield from _differing(parts, f"{above}{name}.")
        else:
            yield f"{above}{name}", tuple(map(_as_json, values))


def _as_json(value: Any) -> str:
    return "" if value is _MISSING else json.dumps(value, ensure_ascii=False)
