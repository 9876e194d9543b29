# ruff: noqa: F401, F403
"""The event vocabulary: everything a run reports, each event a JSON line in `events.jsonl`.

The log is the only source of every screen (live, attached or replayed), so an event carries whatever a
reader needs to draw it. Events are facts: never commands, never secrets. A reader meets logs written by
other versions: it skips types it does not know and counts them (`Unknown`), and new fields have defaults.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Union

import msgspec

from engine.events.base import Event, added_fields, logged_without_envelope, without_envelope
from engine.events.esm import *
from engine.events.evolution import *
from engine.events.gflownet import *
from engine.events.pool import *
from engine.events.run import *
from engine.events.scale import *
from engine.events.selector import *
from engine.events.serve import *
from engine.events.slsm import *
from engine.events.verdict import *
from engine.events.what_if import *
from engine.plugins import plugins

SCHEMA_VERSION = 1

EVENT_TYPES: tuple[type[Event], ...] = tuple(
    t for t in list(globals().values()) if isinstance(t, type) and issubclass(t, Event) and t is not Event
)
"""The built-in types of events."""

_encoder = msgspec.json.Encoder()
_envelope = msgspec.json.Decoder(dict[str, Any])


class Unknown(msgspec.Struct, frozen=True):
    """A well-formed line of a type this version does not know: skipped and counted."""

    type: str


LATEST = 1e11
"""Seconds since 1970 that calendars can still say, and no clock does."""


def encode(event: Event) -> bytes:
    """One line of the log, newline included."""
    return _encoder.encode(event) + b"\n"


@cache
def event_types() -> tuple[type[Event], ...]:
    """All types of events: the built-in ones and those of other packages' methods."""
    modules = plugins("events").values()
    kinds = (kind for module in modules for kind in vars(module).values() if isinstance(kind, type))
    others = dict.fromkeys(kind for kind in kinds if issubclass(kind, Event) and kind is not Event)
    return tuple(dict.fromkeys((*EVENT_TYPES, *others)))


@cache
def _decoder() -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(Union[event_types()])


@cache
def _tags() -> frozenset[str]:
    return frozenset(kind.__name__ for kind in event_types())


def decode(line: bytes) -> Event | Unknown:
    """The event on one line. Raises `msgspec.DecodeError` when the line is no event at all: also where its number or
    time is none, and where it is nested without end."""
    try:
        event = _decoded(line)
    except RecursionError:
        raise msgspec.DecodeError("nested too deeply") from None
    except UnicodeDecodeError as error:
        raise msgspec.DecodeError(f"no UTF-8: {error}") from None
    if isinstance(event, Unknown):
        return event
    if _LONG.search(line):
        _refuse_long(msgspec.json.decode(line))
    if not (event.seq >= 0 and 0 <= event.time < LATEST):
        raise msgspec.DecodeError(f"number {event.seq} or time {event.time:g} cannot be")
    return event


def decode_all(lines: bytes, count: int) -> list[Event] | None:
    """The events on `count` lines, in a third of the time that `decode` takes for each; None where one of them is no
    known event, so that `decode` has to look at each. `lines` ends without a newline."""
    # Within a value a brace that closes is never followed by one that opens: each line holds whole values. So each
    # holds one, if there are as many as lines.
    if not (lines[:1] == b"{" and lines[-1:] == b"}" and lines.count(b"}\n{") == count - 1):
        return None
    if _LONG.search(lines):
        return None
    try:
        events: list[Event] = _decoder().decode_lines(lines)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None
    whole = len(events) == count and all(event.seq >= 0 and 0 <= event.time < LATEST for event in events)
    return events if whole else None


_LONG = re.compile(rb"[:,\[]\s*-?[0-9]{19}")
"""What may be a whole number of more than 64 bits: what events are kept in cannot hold one. (It may be text, too.)"""


def _refuse_long(value: object) -> None:
    """Raises `msgspec.DecodeError` for a whole number of more than 64 bits anywhere in `value`."""
    if isinstance(value, dict):
        for inner in value.values():
            _refuse_long(inner)
    elif isinstance(value, list):
        for inner in value:
            _refuse_long(inner)
    elif isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise msgspec.DecodeError("a whole number has more than 64 bits")


def _decoded(line: bytes) -> Event | Unknown:
    try:
        return _decoder().decode(line)
    except msgspec.ValidationError:
        tag = str(_envelope.decode(line).get("type"))
        if tag in _tags():
            raise
        return Unknown(tag)
