"""Pools and the selector: the best pairs in the pools, and the pairs that each method picks."""

from __future__ import annotations

from rich.table import Table

from app.figures import bounds, fixed, interval, probability, signed
from app.result_tables.layout import result_tables
from app.state.run import RunState
from app.text import counted
from app.words import method_name
from engine.events import PoolTotals

_ORACLES = ("mean", "fully right", "share", "95% interval")
_PICKED = ("n", "accuracy", "95% interval", "difference", "95% interval", "p")


def tables(state: RunState) -> list[Table]:
    """The pools' oracles once all queries are finished, and the methods on the held-out queries."""
    picked = [
        (
            method_name(row.method), str(row.n), fixed(row.accuracy), bounds(row.low, row.high),
            signed(row.difference), interval(row.difference_low, row.difference_high), probability(row.p),
        )
        for row in state.pool.compared.values()
    ]  # fmt: skip
    return [
        *([] if state.pool.totals is None else _oracles(state.pool.totals)),
        *result_tables("Demonstrations picked, against similarity (RICES)", ["method"], _PICKED, picked),
    ]


def _oracles(totals: PoolTotals) -> list[Table]:
    oracles = {
        "original data": totals.before,
        "with mined pairs": totals.inside,
        "after injection": totals.after,
    }
    rows = [
        (
            name, fixed(oracle.mean), str(oracle.positive),
            fixed(oracle.positive / totals.queries if totals.queries else 0.0), bounds(oracle.low, oracle.high),
        )
        for name, oracle in oracles.items()
    ]  # fmt: skip
    counts = f"{counted(totals.queries, 'queries')}, {counted(totals.injected, 'candidates')} injected"
    title = f"Best known pair of a pool, {counts}"
    return result_tables(title, [""], _ORACLES, rows)
