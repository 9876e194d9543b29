"""Base class of the events in the log."""

from __future__ import annotations

from typing import Any

import msgspec


class Event(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True, tag_field="type", gc=False):
    """The fields of every event. `seq` counts from 0 (the header); `time` is Unix seconds. What can be written as a
    line holds no cycle, so no event is searched for garbage."""

    seq: int = 0
    time: float = 0.0
    stage: str = ""


def added_fields(kind: type[Event]) -> list[str]:
    """Names of the fields that `kind` adds to those of every event: the columns of a table of such events."""
    return [name for name in kind.__struct_fields__ if name not in Event.__struct_fields__]


def without_envelope(event: Event) -> dict[str, Any]:
    """All fields that the event's type adds, as plain values."""
    return {name: msgspec.to_builtins(getattr(event, name)) for name in added_fields(type(event))}


def logged_without_envelope(event: Event) -> dict[str, Any]:
    """The same as the log writes them: those that have their default are left out."""
    logged = msgspec.to_builtins(event)
    return {name: logged[name] for name in added_fields(type(event)) if name in logged}
