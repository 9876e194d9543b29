"""The tab Totals: oracle@64 of all training queries before and after, mined trajectories, cost."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.style import Style
from rich.table import Table
from rich.text import Text

from app.blocks.model_text import clean
from app.figures import fixed
from app.state.pool import Oracle, PoolState, Running
from app.state.run import RunState
from app.text import counted
from engine.events import OracleTotal, PoolTotals
from engine.wilson import wilson
from screens.panes.page import PagePane
from screens.widgets.bars import bar
from screens.widgets.links import Target, link

Palette = dict[str, Style]
_EMPTY = """No query is finished yet.

The figures so far appear here after the first queries."""
_FILES = """pool/report.json     these figures
pool/oracle.csv      oracle@64 of every query
pool/decisions.jsonl every query's pool and trajectories, and why
pool/evaluated.jsonl every pair that was tried
pool/rl_data.json    the training data made from them
pool/heldout.json    the pools of the held-out queries"""


class PoolTotalsPane(PagePane):
    """One page; running figures until the stage is through."""

    LINKS = True

    def draw(self, state: RunState, palette: Palette) -> RenderableType:
        return draw_totals(state.pool, palette)


def draw_totals(state: PoolState, palette: Palette) -> RenderableType:
    """Oracles, trajectories, questions to the model, what was left out, files."""
    running, totals = state.running, state.totals
    if totals is None and not running.queries:
        return Text(_EMPTY, palette["dim"])
    parts: list[RenderableType] = [
        _about(running, totals, palette),
        Text(),
        _oracles(running, totals, palette),
    ]
    parts += [Text(), _mined(running, totals, palette), Text(), _asked(running, totals, palette)]
    if totals is not None and (totals.dropped or totals.left_out):
        parts += [Text(), _counts("dropped and left out", {**totals.left_out, **totals.dropped}, palette)]
    if totals is not None:
        parts += [Text(), Text.assemble(("files", palette["heading"])), Text(_FILES, palette["dim"])]
    return Group(*parts)


def _about(running: Running, totals: PoolTotals | None, palette: Palette) -> Text:
    if totals is None:
        text = Text(f"{counted(running.queries, 'training queries')} so far", palette["strong"])
        return text.append("   not finished yet", palette["warn"])
    text = Text(counted(totals.queries, "training queries"), palette["strong"])
    text.append(f", {totals.heldout:,} held out", palette["strong"])
    return text.append(f"\nmodel {clean(totals.model)}", palette["dim"])


def _oracles(running: Running, totals: PoolTotals | None, palette: Palette) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style=palette["heading"])
    table.add_column("oracle@64", no_wrap=True)
    for heading in ("mean", "fully right", "share"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("95% interval", no_wrap=True)
    table.add_column("", no_wrap=True)
    n = running.queries if totals is None else totals.queries
    for name in ("before", "inside", "after"):
        total = _total(getattr(running, name), n) if totals is None else getattr(totals, name)
        share = total.positive / n if n else 0.0
        table.add_row(
            Text(_ORACLES[name]), Text(fixed(total.mean), palette["strong"]), f"{total.positive:,}/{n:,}", fixed(share),
            f"[{fixed(total.low)}, {fixed(total.high)}]", bar(share, 10, palette["accent"], palette["dim"]),
        )  # fmt: skip
    return table


_ORACLES = {
    "before": "original data",
    "inside": "with mined pairs",
    "after": "after injection",
}


def _total(so_far: Oracle, n: int) -> OracleTotal:
    low, high = wilson(so_far.positive, n)
    return OracleTotal(mean=so_far.total / n if n else 0.0, positive=so_far.positive, low=low, high=high)


def _mined(running: Running, totals: PoolTotals | None, palette: Palette) -> RenderableType:
    if totals is None:
        counts = {"committed": running.committed, "refused": running.refused}
        injected, warnings = running.injected, running.warnings
    else:
        counts, injected, warnings = dict(sorted(totals.rules.items())), totals.injected, totals.warnings
    extra = (
        {"refused, but kept as reserve": totals.reserve, "repetitions in the data": totals.repeated}
        if totals
        else {}
    )
    counts = {
        **counts,
        **{word: count for word, count in extra.items() if count},
        "candidates injected": injected,
    }
    table = _counts("mined trajectories", counts, palette)
    if not warnings:
        return table
    line = Text("! ", palette["warn"])
    line.append_text(link(counted(warnings, "queries"), Target("warning", "first"), palette["warn"]))
    return Group(table, line.append(" with a warning: marked ! in Queries"))


def _asked(running: Running, totals: PoolTotals | None, palette: Palette) -> Table:
    if totals is None:
        return _counts("the model", {"pairs asked": running.asked, "failed": running.failed}, palette)
    counts = {
        "pairs asked": totals.asked,
        "failed": totals.failed,
        "calls": totals.calls,
        "tokens": totals.tokens,
    }
    table = _counts("the model", counts, palette)
    table.add_row("cost", f"{totals.cost:,.4f}" if totals.cost else "0")
    return table


def _counts(title: str, counts: dict[str, int], palette: Palette) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style=palette["heading"])
    table.add_column(title, no_wrap=True, min_width=34)
    table.add_column("", justify="right", no_wrap=True)
    for name, count in counts.items():
        table.add_row(Text(clean(name)), Text(f"{count:,}", "" if count else palette["dim"]))
    return table
