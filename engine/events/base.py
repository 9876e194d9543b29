"""Base class of the events in the log."""

from __future__ import annotations

import msgspec


class Event(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True, tag_field="type"):
    """The fields of every event. `seq` counts from 0 (the header); `time` is Unix seconds."""

    seq: int = 0
    time: float = 0.0
    stage: str = ""
