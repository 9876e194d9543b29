"""Figures of a case as short texts; what is not known is a dash."""

from __future__ import annotations


def fixed(value: float | None, digits: int = 3) -> str:
    """`0.812`"""
    return "–" if value is None or value != value else f"{value:.{digits}f}"


def signed(value: float | None, digits: int = 3) -> str:
    """`+0.812`, `−0.020`"""
    return "–" if value is None or value != value else f"{value:+.{digits}f}".replace("-", "−")


def outcome(right: bool | None) -> str:
    """`✓ right`, `✗ wrong`"""
    return "· not judged" if right is None else "✓ right" if right else "✗ wrong"
