"""What servers were asked and what it cost, in the words of a table: for batch's end and the console's files."""

from __future__ import annotations

from collections.abc import Iterable

from app.text import duration
from engine.events import ServerUsage

HEADINGS = ("stage", "role", "model", "requests", "again", "failed", "tokens in", "out", "waited", "cost")
"""Of `usage_cells`; the first three are words, the others figures."""


def usage_cells(one: ServerUsage) -> list[str]:
    """A role's row. Where a server does not count tokens, letters stand for them and are called so."""
    return [
        one.stage, one.role, f"{one.model} at {one.server}", f"{one.requests:,}", f"{one.retries:,}",
        f"{one.failures:,}", *_amounts(one), duration(one.waited), _cost(one),
    ]  # fmt: skip


def _amounts(one: ServerUsage) -> tuple[str, str]:
    tokens = (f"{one.prompt_tokens:,}", f"{one.completion_tokens:,}")
    if not one.unreported:
        return tokens
    letters = (f"{one.characters_sent:,} letters", f"{one.characters_received:,} letters")
    if one.unreported == one.answered:
        return letters
    return f"{tokens[0]} + {letters[0]}", f"{tokens[1]} + {letters[1]}"


def _cost(one: ServerUsage) -> str:
    """Empty without a price; more than it says where some answers came without a count."""
    if one.cost is None:
        return ""
    return f"{'> ' if one.unreported else ''}{one.cost:,.4f}"


def total_cost(rows: Iterable[ServerUsage]) -> float | None:
    """Of all roles with a price; None where none has one."""
    costs = [one.cost for one in rows if one.cost is not None]
    return sum(costs) if costs else None
