"""Moments as people read them, the same in every time zone."""

from __future__ import annotations

from datetime import UTC, datetime


def clock(seconds: float) -> str:
    """`2026-11-22 17:45 UTC`; nothing for what is no moment."""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC") if seconds > 0 else ""
    except (OverflowError, ValueError, OSError):
        return ""
