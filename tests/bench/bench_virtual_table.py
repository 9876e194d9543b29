"""Milliseconds to append 20 rows and draw the tail, and to jump and draw, at 1k to 1M rows.

python tests/bench/bench_virtual_table.py
"""

from __future__ import annotations

import asyncio
import statistics
import time

from textual.app import App, ComposeResult

from app.table.column import Cell
from screens.widgets.tables.rows import Column, RowSource
from screens.widgets.tables.virtual_table import VirtualTable


class Numbers(RowSource):
    """Rows that are computed: only the table is measured."""

    columns = [Column(f"c{i}", f"column {i}", 11, "right", priority=i) for i in range(12)]

    def __init__(self, rows: int) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return self.rows

    def cells(self, row: int) -> tuple[Cell, ...]:
        return tuple(Cell(f"{row * (i + 1) % 9973:,}", "good" if i == 3 else "") for i in range(12))


class BenchApp(App[None]):
    """One table on 160×50."""

    def __init__(self, rows: int) -> None:
        super().__init__()
        self.numbers = Numbers(rows)

    def compose(self) -> ComposeResult:
        yield VirtualTable(self.numbers)


async def measure(rows: int, repeats: int = 40) -> tuple[list[float], list[float]]:
    """(append and tail, jump) in ms; each until the screen is drawn and the message queue empty."""
    app = BenchApp(rows)
    async with app.run_test(size=(160, 50)) as pilot:
        table = app.query_one(VirtualTable)
        table.refresh_rows()
        await pilot.pause()
        appends, jumps = [], []
        for step in range(repeats):
            start = time.perf_counter()
            app.numbers.rows += 20
            table.refresh_rows()
            await drawn(app)
            appends.append((time.perf_counter() - start) * 1000)
            start = time.perf_counter()
            table.go_to((step * 7919) % app.numbers.rows)
            await drawn(app)
            jumps.append((time.perf_counter() - start) * 1000)
            table.follow = True
    return appends, jumps


async def drawn(app: App[None]) -> None:
    """Until the compositor has drawn what is pending."""
    done = asyncio.Event()
    app.screen.call_after_refresh(done.set)
    await done.wait()


def main() -> None:
    print(f"{'rows':>10} {'append 20 + tail, p50':>22} {'p95':>7} {'jump, p50':>10} {'p95':>7}   ms")
    for rows in (1_000, 10_000, 100_000, 1_000_000):
        appends, jumps = asyncio.run(measure(rows))
        a, j = statistics.quantiles(appends, n=20), statistics.quantiles(jumps, n=20)
        print(f"{rows:>10,} {a[9]:>22.1f} {a[18]:>7.1f} {j[9]:>10.1f} {j[18]:>7.1f}")


if __name__ == "__main__":
    main()
