"""How figures are written everywhere: in the console, in batch's tables and in reports. The same precision for the same
quantity, one sign for what is not known, a minus as wide as a plus, and neither before a zero."""

from __future__ import annotations

from math import isfinite

from engine.events.verdict import SHARE

NONE = "·"
"""What is not known, or is no number."""


def rounded(value: float, kind: str) -> str:
    """As `.3f` or `,.1f` writes the decimal number that is meant, a half away from zero: a mean of 46 of 160 is 0.2875,
    though as a float it lies below or above that, so it is 0.288 and 28.8%, whoever computed it."""
    return f"{value * (1 + 1e-13):{kind}}"


def fixed(value: float | None, digits: int = 3) -> str:
    """`0.812`, `−0.050`"""
    return NONE if value is None or value != value else minus(rounded(value, f".{digits}f"))


def signed(value: float | None, digits: int = 3) -> str:
    """`+0.120`, `−0.020`; what rounds to zero has no sign: `0.000`"""
    text = fixed(value, digits)
    return f"+{text}" if value and value > 0 and text.strip("0.") else text


def of_unit(value: float | None, unit: str, is_difference: bool = False) -> str:
    """`0.965` of shares, `45.9` of another unit; with its sign where it is a difference."""
    return (signed if is_difference else fixed)(value, 3 if unit == SHARE else 1)


def interval(low: float | None, high: float | None, digits: int = 3) -> str:
    """`[−0.050, +0.210]`: of a difference."""
    return NONE if low is None or high is None else f"[{signed(low, digits)}, {signed(high, digits)}]"


def bounds(low: float | None, high: float | None, digits: int = 3) -> str:
    """`[0.750, 0.870]`: of a value."""
    return NONE if low is None or high is None else f"[{fixed(low, digits)}, {fixed(high, digits)}]"


def probability(p: float | None) -> str:
    """`0.031`, `2e-07`"""
    if p is None or p != p:
        return NONE
    return f"{p:.3f}" if p >= 0.001 or p == 0 else f"{p:.0e}"


def share(value: float | None) -> str:
    """`81.2%`"""
    return NONE if value is None or value != value else minus(rounded(100 * value, ".1f")) + "%"


def figure(value: float) -> str:
    """A value of any size: three digits behind the point, fewer where it is large: `0.846`, `−12.3`, `1,234`."""
    if not isfinite(value):
        return NONE
    digits = 3 if abs(value) < 10 else 1 if abs(value) < 1000 else 0
    return minus(f"{value:.2g}" if value and abs(value) < 0.001 else rounded(value, f",.{digits}f"))


def short(value: object) -> str:
    """A figure of a stage: four digits that count, or thousands set apart; a text as it is."""
    if isinstance(value, float):
        return minus(f"{value:,.0f}" if abs(value) >= 9_999.5 else f"{value:.4g}")
    return minus(f"{value:,}") if isinstance(value, int) else str(value)


def tick(value: float) -> str:
    """At an axis: `0.85`, `12k`, `1e-06`."""
    if abs(value) >= 10_000 and value % 1000 == 0:
        return tick(value / 1000) + "k" if abs(value) < 1e6 else minus(f"{value:g}")
    return minus(f"{value:.5g}")


def outcome(correct: bool | None) -> str:
    """A tick, a cross, or a dot while it is not known."""
    return NONE if correct is None else "✓" if correct else "✗"


def outcome_words(correct: bool | None) -> str:
    """`✓ right`, `✗ wrong`, `· not judged`"""
    return f"{outcome(correct)} {'not judged' if correct is None else 'right' if correct else 'wrong'}"


def against_greedy(sign: int | None) -> str:
    """▲ right where greedy is wrong, ▼ wrong where greedy is right."""
    return {1: "▲", -1: "▼"}.get(sign or 0, " ")


def minus(text: str) -> str:
    """A minus as wide as a plus before a number, none before zero; the exponent's stays as it is."""
    if not text.startswith("-"):
        return text
    zero = not text.strip("-0.,")
    return text[1:] if zero else "−" + text[1:]
