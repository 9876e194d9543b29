"""Requests to servers and their cost as cells of a table: for the end of batch, reports and the panel Files."""

from __future__ import annotations

from collections.abc import Iterable

from app.wording.text import duration
from engine.events import ServerUsage

HEADINGS = ("stage", "role", "model", "requests", "retries", "failed", "tokens in", "out", "waited", "cost")
"""Headings of `usage_cells`; the first three are words, the others figures."""


def usage_cells(usage: ServerUsage) -> list[str]:
    """The row of a role. A server that does not count tokens gets counts of letters instead, named as such."""
    return [
        usage.stage, usage.role, f"{usage.model} at {usage.server}", f"{usage.requests:,}", f"{usage.retries:,}",
        f"{usage.failures:,}", *_amounts(usage), duration(usage.waited), _cost(usage),
    ]  # fmt: skip


def _amounts(usage: ServerUsage) -> tuple[str, str]:
    tokens = (f"{usage.prompt_tokens:,}", f"{usage.completion_tokens:,}")
    if not usage.unreported:
        return tokens
    letters = (f"{usage.characters_sent:,} letters", f"{usage.characters_received:,} letters")
    if usage.unreported == usage.answered:
        return letters
    return f"{tokens[0]} + {letters[0]}", f"{tokens[1]} + {letters[1]}"


def _cost(usage: ServerUsage) -> str:
    """The cost; empty without a price, `> …` where some answers came without a token count."""
    if usage.cost is None:
        return ""
    return f"{'> ' if usage.unreported else ''}{usage.cost:,.4f}"


def total_cost(rows: Iterable[ServerUsage]) -> float | None:
    """Cost of all roles that have a price; None where no role has a price."""
    costs = [row.cost for row in rows if row.cost is not None]
    return sum(costs) if costs else None
