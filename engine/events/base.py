"""What every event of the log carries."""

from __future__ import annotations

import msgspec


class Event(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True, tag_field="type"):
    """What every event carries. `seq` counts from 0 (the header); `time` is Unix seconds."""

    seq: int = 0
    time: float = 0.0
    stage: str = ""
