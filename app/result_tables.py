"""The tables of every run: the use of its servers, and its stages with the files that hold all figures."""

from __future__ import annotations

from app.blocks.block import Table
from app.state.run import RunState
from app.wording.stage_words import stage_words
from app.wording.text import duration
from engine.events import ServerUsage
from engine.run.stage_state import FINISHED, SKIPPED

HEADINGS = ("stage", "role", "model", "requests", "retries", "failed", "tokens in", "out", "waited", "cost")
_WORDS = 3
"""How many of the columns about servers are words, the first of them."""
_PRIORITY = (0, 0, 0, 0, 3, 2, 1, 1, 4, 0)
"""Which columns go first where there is no room: the time waited, then retries and failures, then tokens."""


def servers(state: RunState) -> list[Table]:
    """Requests, tokens and cost by stage and role; no table where none was asked."""
    rows = list(map(usage_cells, state.usage.values()))
    costs = [usage.cost for usage in state.usage.values() if usage.cost is not None]
    title = "Servers" + (f", total cost {sum(costs):,.4f}" if costs else "")
    return [Table(HEADINGS, rows, len(HEADINGS) - _WORDS, title, priority=_PRIORITY)] if rows else []


def usage_cells(usage: ServerUsage) -> list[str]:
    """The row of a role. Without a price the cost is empty; where answers came without a token count, tokens and cost
    are `> …`."""
    more = "> " if usage.unreported else ""
    return [
        usage.stage, usage.role, f"{usage.model} at {usage.server}", f"{usage.requests:,}", f"{usage.retries:,}",
        f"{usage.failures:,}", f"{more}{usage.prompt_tokens:,}", f"{more}{usage.completion_tokens:,}",
        duration(usage.waited), "" if usage.cost is None else f"{more}{usage.cost:,.4f}",
    ]  # fmt: skip


def stages(state: RunState) -> list[Table]:
    """The finished stages, their times and files; and those that are skipped or stale."""
    rows = [
        (stage.name, duration(stage.seconds), "\n".join(stage.files))
        if stage.status == FINISHED
        else (stage.name, "", stage_words(stage))
        for stage in state.stages.values()
        if stage.status in (FINISHED, SKIPPED) or stage.stale
    ]
    return [Table(("stage", "time", "files"), rows, 0, "Stages")] if rows else []
