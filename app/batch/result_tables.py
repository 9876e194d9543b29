"""What a run found, at its end: the methods' results and the files that hold them."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from app.text import duration
from app.usage_text import HEADINGS, total_cost, usage_cells
from engine.events import (
    Event,
    MethodCompared,
    MethodEvaluated,
    ModeScored,
    PoolTotals,
    SelectorCompared,
    ServerUsage,
    StageFinished,
)
from engine.run.directory import RunDirectory


class Results:
    """Collects a log's results; a later result of a method or stage replaces an earlier one."""

    def __init__(self) -> None:
        self.methods: dict[str, MethodEvaluated] = {}
        self.stages: dict[str, StageFinished] = {}
        self.compared: dict[str, MethodCompared] = {}
        self.modes: dict[tuple[str, str], ModeScored] = {}
        self.pools: PoolTotals | None = None
        self.selectors: dict[str, SelectorCompared] = {}
        self.usage: dict[tuple[str, str], ServerUsage] = {}

    def take(self, event: Event) -> None:
        """Keep the event if it is a result."""
        if isinstance(event, MethodEvaluated) and event.final:
            self.methods[event.method] = event
        elif isinstance(event, MethodCompared):
            self.compared[event.method] = event
        elif isinstance(event, ModeScored):
            self.modes[event.mode, event.memory_mode] = event
        elif isinstance(event, PoolTotals):
            self.pools = event
        elif isinstance(event, SelectorCompared):
            self.selectors[event.method] = event
        elif isinstance(event, ServerUsage):
            self.usage[event.stage, event.role] = event
        elif isinstance(event, StageFinished):
            self.stages[event.stage] = event

    def print(self, console: Console, directory: RunDirectory) -> None:
        """Print the tables, and where every figure of them stands."""
        if self.methods:
            console.print(_methods_table(list(self.methods.values())))
        if self.compared:
            console.print(_compared_table(list(self.compared.values())))
        if self.modes:
            console.print(_modes_table(list(self.modes.values())))
        if self.pools is not None:
            console.print(_pools_table(self.pools))
        if self.selectors:
            console.print(_selectors_table(list(self.selectors.values())))
        if self.usage:
            console.print(_usage_table(list(self.usage.values())))
        if self.stages:
            console.print(_stages_table(list(self.stages.values())))
        console.print(Text(f"all files: {directory.path}"), soft_wrap=True)


def _methods_table(methods: list[MethodEvaluated]) -> Table:
    table = Table(box=box.SIMPLE, title="Methods, against greedy", title_justify="left")
    table.add_column("method", no_wrap=True)
    for heading in ("n", "accuracy", "difference", "95% interval", "p", "tokens", "probe tokens"):
        table.add_column(heading, justify="right", no_wrap=True)
    for method in methods:
        table.add_row(*map(Text, [method.method, *_cells(method)]))
    return table


def _cells(method: MethodEvaluated) -> list[str]:
    interval = "" if method.low is None or method.high is None else f"[{method.low:+.3f}, {method.high:+.3f}]"
    return [
        str(method.n),
        f"{method.accuracy:.3f}",
        "" if method.difference is None else f"{method.difference:+.3f}",
        interval,
        "" if method.p is None else f"{method.p:.3g}",
        f"{method.mean_tokens:.1f}",
        f"{method.mean_probe_tokens:.1f}",
    ]


def _compared_table(rows: list[MethodCompared]) -> Table:
    table = Table(box=box.SIMPLE, title="Deltas, on the test set", title_justify="left")
    table.add_column("", no_wrap=True)
    for heading in ("n", "correct", "95% interval", "difference", "tokens", "composite"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(
            f"{row.method} {row.cap}" if row.cap is not None else row.method,
            str(row.n),
            f"{row.correctness:.3f}",
            f"[{row.wilson_low:.3f}, {row.wilson_high:.3f}]",
            "" if row.difference is None else f"{row.difference:+.3f}",
            f"{row.mean_tokens:.1f}",
            f"{row.composite:.3f}",
        )
    return table


def _modes_table(modes: list[ModeScored]) -> Table:
    table = Table(box=box.SIMPLE, title="Memory notes, against baseline", title_justify="left")
    table.add_column("mode", no_wrap=True)
    table.add_column("memory", no_wrap=True)
    for heading in ("n", "score", "difference", "95% interval", "notes", "fixed", "wasted", "broke"):
        table.add_column(heading, justify="right", no_wrap=True)
    for mode in modes:
        low, high = mode.difference_low, mode.difference_high
        cells = [
            mode.mode,
            mode.memory_mode,
            str(mode.n),
            f"{mode.score:.3f}" if mode.judged else "",
            "" if mode.difference is None else f"{mode.difference:+.3f}",
            "" if low is None or high is None else f"[{low:+.3f}, {high:+.3f}]",
            *map(str, (mode.injections, mode.fixed, mode.wasted, mode.broke)),
        ]
        table.add_row(*map(Text, cells))
    return table


def _pools_table(totals: PoolTotals) -> Table:
    title = f"oracle@64 of {totals.queries:,} queries, {totals.injected:,} candidates injected"
    table = Table(box=box.SIMPLE, title=title, title_justify="left")
    table.add_column("", no_wrap=True)
    for heading in ("mean", "fully right", "share", "95% interval"):
        table.add_column(heading, justify="right", no_wrap=True)
    for name, one in (
        ("as the data came", totals.before),
        ("with pairs mined in it", totals.inside),
        ("after injection", totals.after),
    ):
        share = one.positive / totals.queries if totals.queries else 0.0
        cells = [
            name,
            f"{one.mean:.3f}",
            str(one.positive),
            f"{share:.3f}",
            f"[{one.low:.3f}, {one.high:.3f}]",
        ]
        table.add_row(*map(Text, cells))
    return table


def _selectors_table(methods: list[SelectorCompared]) -> Table:
    table = Table(box=box.SIMPLE, title="Demonstrations picked, against RICES", title_justify="left")
    table.add_column("method", no_wrap=True)
    for heading in ("n", "accuracy", "95% interval", "difference", "95% interval", "p"):
        table.add_column(heading, justify="right", no_wrap=True)
    for method in methods:
        low, high = method.difference_low, method.difference_high
        cells = [
            method.method,
            str(method.n),
            f"{method.accuracy:.3f}",
            f"[{method.low:.3f}, {method.high:.3f}]",
            "" if method.difference is None else f"{method.difference:+.3f}",
            "" if low is None or high is None else f"[{low:+.3f}, {high:+.3f}]",
            "" if method.p is None else f"{method.p:.3g}",
        ]
        table.add_row(*map(Text, cells))
    return table


def _usage_table(rows: list[ServerUsage]) -> Table:
    cost = total_cost(rows)
    title = "Servers" + ("" if cost is None else f", {cost:,.4f} in all")
    table = Table(box=box.SIMPLE, title=title, title_justify="left")
    for number, heading in enumerate(HEADINGS):
        words = number < 3
        table.add_column(heading, justify="left" if words else "right", no_wrap=number != 2, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, usage_cells(row)))
    return table


def _stages_table(stages: list[StageFinished]) -> Table:
    table = Table(box=box.SIMPLE, title="Stages", title_justify="left")
    table.add_column("stage", no_wrap=True)
    table.add_column("time", justify="right", no_wrap=True)
    table.add_column("files", overflow="fold")
    for stage in stages:
        table.add_row(Text(stage.stage), duration(stage.seconds), Text("\n".join(stage.files)))
    return table
