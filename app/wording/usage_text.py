"""Requests to servers and their cost as cells of a table: for the end of batch, reports and the panel Files."""

from __future__ import annotations

from collections.abc import Iterable

from app.wording.text import duration
from engine.events import ServerUsage

HEADINGS = ("stage", "role", "model", "requests", "retries", "failed", "tokens in", "out", "waited", "cost")
"""Headings of `usage_cells`; the first three are words, the others figures."""


def usage_cells(usage: ServerUsage) -> list[str]:
    """The row of a role. Without a price the cost is empty; where answers came without a token count, tokens and cost
    are `> …`."""
    more = "> " if usage.unreported else ""
    return [
        usage.stage, usage.role, f"{usage.model} at {usage.server}", f"{usage.requests:,}", f"{usage.retries:,}",
        f"{usage.failures:,}", f"{more}{usage.prompt_tokens:,}", f"{more}{usage.completion_tokens:,}",
        duration(usage.waited), "" if usage.cost is None else f"{more}{usage.cost:,.4f}",
    ]  # fmt: skip


def total_cost(rows: Iterable[ServerUsage]) -> float | None:
    """Cost of all roles that have a price; None where no role has a price."""
    costs = [row.cost for row in rows if row.cost is not None]
    return sum(costs) if costs else None
