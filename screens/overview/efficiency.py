"""The panel that says where the time, the tokens, the memory and the money went, stage by stage and over time."""

from __future__ import annotations

from typing import ClassVar

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text
from textual.binding import BindingType
from textual.widgets import Static

from app.blocks.bars import bar
from app.commands import DIALOG, bindings
from app.figures import NONE
from app.state.run import RunState
from app.text import duration, file_size
from app.usage_text import HEADINGS, total_cost, usage_cells
from app.words import method_name
from engine.run.stage_state import StageState
from screens.run_session import Session, shown_stages
from screens.session_panel import SessionPanel
from screens.widgets.spark import spark

_BAR = 16
_HEADINGS = ("stage", "time", "share of the time", "tokens", "tokens/s", "memory", "GPU")


class EfficiencyPanel(SessionPanel):
    """Drawn from the run's log while it is open."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings(DIALOG), ("dollar_sign,q", "close", "")]
    HELP = """\
# Efficiency

Where the run's time went, stage by stage; the tokens its models generated, and how fast; the largest memory that a
stage's process held. Below, over time: tokens a second, and memory. Tokens of ESM are split into committed ones,
which stand in the answers, and those of probes. Servers are listed with their calls, tokens and cost.
"""
    TITLE_WORD = "Where time, tokens and memory went"
    CONTENTS = ("efficiency",)

    def draw(self, session: Session) -> None:
        page = draw_efficiency(session.state, shown_stages(session), self.size.width)
        self.query_one("#efficiency", Static).update(page)


def draw_efficiency(state: RunState, shown: list[StageState], width: int) -> RenderableType:
    """The whole page. `width`: of the terminal."""
    spent = {stage.name: _seconds(stage) for stage in shown}
    if not any(spent.values()):
        return Text("No stage has worked yet.")
    parts: list[RenderableType] = [_in_all(state, sum(spent.values())), Text()]
    parts += [_stages(state, shown, spent, width), *_over_time(state, width)]
    return Group(*parts, *_esm_tokens(state), *_servers(state))


def _seconds(stage: StageState) -> float:
    return stage.seconds or stage.elapsed


def _in_all(state: RunState, seconds: float) -> Text:
    """What the run cost, in a line."""
    tokens, cost = state.efficiency.counted(), total_cost(state.usage.values())
    if not state.usage:
        paid = "no server was asked, nothing was paid"
    else:
        paid = "servers were asked, no price is configured" if cost is None else f"servers cost {cost:,.4f}"
    written = f", {tokens:,} tokens" if tokens else ""
    return Text(f"{duration(seconds)} of work{written}; {paid}", "bold")


def _stages(state: RunState, shown: list[StageState], spent: dict[str, float], width: int) -> Table:
    whole = sum(spent.values())
    gpu = any(use.gpu for use in state.efficiency.stages.values())
    names = [name for name in _HEADINGS if name != "GPU" or gpu]
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for name in names:
        left = name in ("stage", "share of the time")
        table.add_column(name, justify="left" if left else "right", no_wrap=True)
    for stage in shown:
        seconds, use = spent[stage.name], state.efficiency.stages.get(stage.name)
        tokens = use.all_tokens if use is not None else 0
        cells: list[str | Text] = [
            stage.name,
            duration(seconds) if seconds else NONE,
            bar(seconds / whole, _BAR if width >= 100 else 8).append(f" {seconds / whole:4.0%}"),
            f"{tokens:,}" if tokens else NONE,
            f"{stage.tokens_per_second:,.0f}" if stage.tokens_per_second else NONE,
            file_size(use.resident) if use is not None and use.resident else NONE,
        ]
        table.add_row(*cells, *([file_size(use.gpu) if use is not None and use.gpu else NONE] if gpu else []))
    tokens = state.efficiency.counted()
    table.add_row("all", duration(whole), "", f"{tokens:,}" if tokens else NONE, style="bold")
    return table


def _over_time(state: RunState, width: int) -> list[RenderableType]:
    """Tokens a second and memory, as small curves."""
    moments = state.efficiency.moments
    if len(moments) < 2:
        return []
    across = max(20, min(80, width - 40))
    curves = (
        ("tokens/s", [m.per_second for m in moments], lambda value: f"{value:,.0f}"),
        ("memory", [float(m.resident) for m in moments if m.resident], lambda value: file_size(round(value))),
    )
    parts: list[RenderableType] = []
    for name, values, say in curves:
        if len(values) < 2 or not max(values):
            continue
        lines = spark(values, across, 2)
        text = (
            Text(f"\n{name:<9}", "dim", no_wrap=True)
            .append(lines[0], "")
            .append(f" {say(max(values))} at most\n")
        )
        parts.append(text.append(" " * 9).append(lines[1], "").append(f" {say(min(values))} at least"))
    clock = duration(state.time - state.began)
    return [*parts, Text(f"{'':9}0:00{clock:>{across - 4}}", "dim")] if parts else []


def _esm_tokens(state: RunState) -> list[RenderableType]:
    """Committed and probe tokens of each evaluated method."""
    rows = state.esm.methods
    if not rows:
        return []
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    table.add_column("ESM: method", no_wrap=True)
    for name in ("accuracy", "committed tokens", "of probes", "a problem"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        total = row.mean_tokens + row.mean_probe_tokens
        table.add_row(
            method_name(row.method), f"{row.accuracy:.3f}", f"{row.mean_tokens * row.n:,.0f}",
            f"{row.mean_probe_tokens * row.n:,.0f}", f"{total:,.1f}",
        )  # fmt: skip
    return [Text(), table]


def _servers(state: RunState) -> list[RenderableType]:
    """Calls, tokens and cost by stage and role."""
    if not state.usage:
        return []
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for at, name in enumerate(HEADINGS):
        table.add_column(name, justify="left" if at < 3 else "right", no_wrap=at != 2, overflow="fold")
    for usage in state.usage.values():
        table.add_row(*usage_cells(usage))
    return [Text(), table]
