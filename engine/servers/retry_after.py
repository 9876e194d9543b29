"""How long a server asks to wait (RFC 9110, 10.2.3)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime

LONGEST_WAIT = 60.0
"""Seconds; no server holds a run up for longer at a time."""


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds from `now` (Unix time), between 0 and `LONGEST_WAIT`; None where the server does not say.

    `Retry-After` is a number of seconds or a date; OpenAI's `retry-after-ms` is finer and counts more.
    """
    number = _number(headers.get("retry-after-ms"))
    if number is not None:
        return _within(number / 1000)
    value = headers.get("retry-after")
    number = _number(value)
    return _until(value, now) if number is None else _within(number)


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _until(text: str | None, now: float) -> float | None:
    try:
        when = parsedate_to_datetime(text or "")
        when = when if when.tzinfo is not None else when.replace(tzinfo=UTC)
        return _within(when.timestamp() - now)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _within(seconds: float) -> float:
    return min(max(seconds, 0.0), LONGEST_WAIT)
