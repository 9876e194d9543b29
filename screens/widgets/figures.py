"""How figures are written everywhere: the same precision for the same quantity, one sign for none."""

from __future__ import annotations

NONE = "·"


def fixed(value: float | None, digits: int = 3) -> str:
    """`0.812`, `−0.050`"""
    return NONE if value is None or value != value else f"{value:.{digits}f}".replace("-", "−")


def signed(value: float | None, digits: int = 3) -> str:
    """`+0.120`, with a minus as wide as the plus."""
    return NONE if value is None or value != value else f"{value:+.{digits}f}".replace("-", "−")


def interval(low: float | None, high: float | None, digits: int = 3) -> str:
    """`[+0.050, +0.210]`"""
    return NONE if low is None or high is None else f"[{signed(low, digits)}, {signed(high, digits)}]"


def probability(p: float | None) -> str:
    """`0.031`, `2e-07`"""
    if p is None:
        return NONE
    return f"{p:.3f}" if p >= 0.001 else f"{p:.0e}"


def outcome(correct: bool | None) -> str:
    """A tick, a cross, or a dot while it is not known."""
    return NONE if correct is None else "✓" if correct else "✗"


def against_greedy(sign: int | None) -> str:
    """▲ right where greedy is wrong, ▼ wrong where greedy is right."""
    return {1: "▲", -1: "▼"}.get(sign or 0, " ")
