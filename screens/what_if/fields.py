"""The fields that say what to try, and what is read out of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

SWEEP = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0)
"""Strengths of a sweep, as multiples of the one in the field."""


@dataclass(frozen=True)
class Field:
    """A field with its label. `hint` stands in it while it is empty; `width` in columns, 0: what is left."""

    name: str
    label: str
    value: str = ""
    hint: str = ""
    width: int = 14


def words_of(text: str) -> list[str]:
    """What is separated by spaces or commas."""
    return text.replace(",", " ").split()


def number(text: str, name: str, low: float = -1000, high: float = 1000) -> float:
    """Raises ValueError, in the user's words."""
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"{name}: expected a number, found {text!r}") from None
    if not low <= value <= high:
        raise ValueError(f"{name}: expected {low:g} to {high:g}, found {text}")
    return value


def whole(text: str, name: str, high: int = 1_000_000) -> int:
    """Raises ValueError, in the user's words."""
    if not (text.isascii() and text.isdecimal()) or int(text[:9]) > high:
        raise ValueError(f"{name}: expected a whole number from 0 to {high:,}, found {text!r}")
    return int(text)


def yes_or_no(text: str, name: str) -> bool:
    """1 or 0. Raises ValueError, in the user's words."""
    if text not in ("0", "1"):
        raise ValueError(f"{name}: expected 0 or 1, found {text!r}")
    return text == "1"


def strengths(text: str, name: str, sweep: bool) -> list[float]:
    """Those in a field; for a sweep, multiples of the first. Raises ValueError, in the user's words."""
    found = [number(word, name) for word in words_of(text)]
    if not found:
        raise ValueError(f"{name}: a strength is missing, such as 1.0")
    return [found[0] * factor for factor in SWEEP] if sweep else found


def chosen(text: str, name: str, choices: Sequence[str], known: Callable[[str], str]) -> list[str]:
    """Numbers of a list as what they stand for, other words as `known` reads them. Raises ValueError."""
    return [of_list(word, name, choices) if word.isdecimal() else known(word) for word in words_of(text)]


def of_list(word: str, name: str, choices: Sequence[str]) -> str:
    """What a number of a list stands for. Raises ValueError."""
    if not 1 <= int(word) <= len(choices):
        raise ValueError(f"{name}: the list has no {word}; it has {len(choices)} entries")
    return choices[int(word) - 1]
