"""Its event."""

from __future__ import annotations

from engine.events.base import Event


class AgreementMeasured(Event, tag=True, kw_only=True, frozen=True):
    """`share` of `samples` gave `answer`, the most frequent one."""

    example: str
    answer: str
    share: float
    samples: int
