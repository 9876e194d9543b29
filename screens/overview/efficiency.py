"""The panel that says where the time, the tokens, the memory and the money went, stage by stage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import BindingType

from app.blocks.bars import plain_bar
from app.blocks.block import Block, Paragraph, Span, Table, Words
from app.keys.commands import DIALOG, bindings
from app.result_tables import servers
from app.state.efficiency import StageUse
from app.state.run import RunState
from app.wording.figures import NONE
from app.wording.text import duration, file_size
from app.wording.usage_text import total_cost
from engine.run.stage_state import StageState
from screens.panels.session_panel import BlocksPanel
from screens.run_session import Session, shown_stages

_HEADINGS = ("stage", "share of the time", "time", "tokens", "tokens/s", "memory", "GPU")


class EfficiencyPanel(BlocksPanel):
    """Drawn from the run's log while it is open."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings(DIALOG), ("dollar_sign,q", "close", "")]
    HELP = """\
# Efficiency

Where the run's time went, stage by stage; the tokens its models generated, and how fast; the largest memory that a
stage's process held. Servers are listed with their calls, tokens and cost. How many tokens an answer of ESM takes, and
its probes, is on ESM's screen under *Results*.
"""
    TITLE_WORD = "Where time, tokens and memory went"

    def blocks(self, session: Session, width: int) -> list[Block]:
        return efficiency_blocks(session.state, shown_stages(session), width)


def efficiency_blocks(state: RunState, shown: Sequence[StageState], width: int) -> list[Block]:
    """The whole panel, `width` columns wide."""
    spent = {stage.name: stage.seconds or stage.elapsed for stage in shown}
    if not any(spent.values()):
        return [Paragraph("No stage has worked yet.")]
    table = _stages(state, shown, spent, 16 if width >= 90 else 8)
    return [_in_all(state, sum(spent.values())), table, *servers(state)]


def _in_all(state: RunState, seconds: float) -> Paragraph:
    """What the run cost, in a line."""
    tokens, cost = state.efficiency.counted(), total_cost(state.usage.values())
    if not state.usage:
        paid = "no server was asked, nothing was paid"
    else:
        paid = "servers were asked, no price is configured" if cost is None else f"servers cost {cost:,.4f}"
    written = f", {tokens:,} tokens" if tokens else ""
    return Paragraph(f"{duration(seconds)} of work{written}; {paid}", "strong")


def _stages(state: RunState, shown: Sequence[StageState], spent: dict[str, float], bar: int) -> Table:
    """A row for each stage; a column for the GPU where one was used."""
    whole = sum(spent.values())
    rows: list[Sequence[Words]] = []
    for stage in shown:
        seconds, use = spent[stage.name], state.efficiency.stages.get(stage.name, StageUse())
        share = f"{plain_bar(seconds / whole, bar)} {seconds / whole:4.0%}"
        figures = (
            duration(seconds) if seconds else "",
            _count(use.all_tokens),
            _count(stage.tokens_per_second),
        )
        rows.append([stage.name, share, *(cell or NONE for cell in (*figures, *_memory(use)))])
    tokens = _count(state.efficiency.counted()) or NONE
    rows.append([Span(cell, "strong") for cell in ("all", "", duration(whole), tokens, "", "", "")])
    columns = len(_HEADINGS) - (not any(use.gpu for use in state.efficiency.stages.values()))
    return Table(_HEADINGS[:columns], [row[:columns] for row in rows], columns - 2)


def _count(value: float | None) -> str:
    return f"{value:,.0f}" if value else ""


def _memory(use: StageUse) -> tuple[str, str]:
    """The process's and the GPU's."""
    return file_size(use.resident) if use.resident else "", file_size(use.gpu) if use.gpu else ""
