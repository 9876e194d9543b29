"""What a run has found so far: the methods' results, and the files that hold them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from app.batch.tables import esm, evolution, gflownet, pool, run, slsm
from app.state.run import RunState
from engine.run.directory import RunDirectory

TABLES: Sequence[Callable[[RunState], list[Table]]] = (
    esm.tables,
    evolution.tables,
    gflownet.tables,
    slsm.tables,
    pool.tables,
    run.servers,
    run.stages,
)
"""In the order of print. What has no results has no tables."""


def print_results(state: RunState, console: Console, directory: RunDirectory) -> None:
    """Print all tables and where every figure of them stands; nothing while nothing is finished."""
    found = [table for tables in TABLES for table in tables(state)]
    for table in found:
        console.print(table)
    if found:
        console.print(Text(f"all files: {directory.path}"), soft_wrap=True)
