"""Pools and the selector: what is best in the pools, and what is picked from them."""

from __future__ import annotations

from rich.table import Table

from app.batch.tables.layout import difference, differences, probability, result_tables, share, shares
from app.state.run import RunState
from engine.events import PoolTotals

_ORACLES = ("mean", "fully right", "share", "95% interval")
_PICKED = ("n", "accuracy", "95% interval", "difference", "95% interval", "p")


def tables(state: RunState) -> list[Table]:
    """The pools' oracles, once all queries are through, and the methods on the held-out queries."""
    picked = [
        (
            row.method, str(row.n), share(row.accuracy), shares(row.low, row.high), difference(row.difference),
            differences(row.difference_low, row.difference_high), probability(row.p),
        )
        for row in state.pool.compared.values()
    ]  # fmt: skip
    return [
        *([] if state.pool.totals is None else _oracles(state.pool.totals)),
        *result_tables("Demonstrations picked, against RICES", ["method"], _PICKED, picked),
    ]


def _oracles(totals: PoolTotals) -> list[Table]:
    oracles = {
        "as the data came": totals.before,
        "with pairs mined in it": totals.inside,
        "after injection": totals.after,
    }
    rows = [
        (
            name, share(one.mean), str(one.positive),
            share(one.positive / totals.queries if totals.queries else 0.0), shares(one.low, one.high),
        )
        for name, one in oracles.items()
    ]  # fmt: skip
    title = f"oracle@64 of {totals.queries:,} queries, {totals.injected:,} candidates injected"
    return result_tables(title, [""], _ORACLES, rows)
