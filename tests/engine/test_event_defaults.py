"""A default is part of the log's format: logs leave it out, so that another one changes what written logs say.

python -m tests.engine.test_event_defaults     # write the file anew, for a field that is new
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from engine import events

RECORDED = Path(__file__).with_name("event_defaults.json")


def defaults() -> dict[str, dict[str, Any]]:
    """The defaults of each type of event and of what it holds, by the names that logs have."""
    kinds = [
        kind for kind in vars(events).values() if isinstance(kind, type) and issubclass(kind, msgspec.Struct)
    ]
    return {
        kind.__name__: {
            one.encode_name: msgspec.to_builtins(value)
            for one in msgspec.structs.fields(kind)
            if (value := _default(one)) is not msgspec.NODEFAULT
        }
        for kind in sorted(kinds, key=lambda kind: kind.__name__)
    }


def names() -> dict[str, dict[str, str]]:
    """The fields that have another name in logs."""
    return {
        kind.__name__: renamed
        for kind in vars(events).values()
        if isinstance(kind, type)
        and issubclass(kind, msgspec.Struct)
        and (
            renamed := {
                f.name: f.encode_name for f in msgspec.structs.fields(kind) if f.name != f.encode_name
            }
        )
    }


def _default(one: msgspec.structs.FieldInfo) -> Any:
    factory = one.default_factory
    return one.default if factory is msgspec.NODEFAULT else factory()


def test_the_defaults_are_those_of_the_logs_that_were_written() -> None:
    assert defaults() == json.loads(RECORDED.read_text())


def test_one_field_has_another_name_in_logs() -> None:
    assert names() == {"StageFailed": {"hint": "mend"}}


if __name__ == "__main__":
    RECORDED.write_text(json.dumps(defaults(), indent=1) + "\n")
