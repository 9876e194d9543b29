"""The tables of every run: the use of its servers, and its stages with the files that hold all figures."""

from __future__ import annotations

from app.blocks.block import Table
from app.state.run import RunState
from app.wording.stage_words import stage_words
from app.wording.text import duration
from app.wording.usage_text import HEADINGS, total_cost, usage_cells
from engine.run.stage_state import FINISHED, SKIPPED

_WORDS = 3
"""How many of the columns about servers are words."""


_PRIORITY = (0, 0, 0, 0, 3, 2, 1, 1, 4, 0)
"""Which columns go first where there is no room: the time waited, then retries and failures, then tokens."""


def servers(state: RunState) -> list[Table]:
    """Requests, tokens and cost by stage and role; no table where none was asked."""
    rows = list(map(usage_cells, state.usage.values()))
    cost = total_cost(state.usage.values())
    title = "Servers" + ("" if cost is None else f", total cost {cost:,.4f}")
    return [Table(HEADINGS, rows, len(HEADINGS) - _WORDS, title, priority=_PRIORITY)] if rows else []


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
