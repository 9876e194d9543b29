"""The results of a run so far, as tables, and the files that hold them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from app.blocks import block as blocks_of
from app.blocks.printed import printed
from app.methods.pages import pages
from app.result_tables import evolution, run
from app.state.run import RunState
from app.verdict_text import verdict_sentence, verdicts
from engine.run.directory import RunDirectory


def _of_pages(state: RunState) -> list[Table]:
    """Those of the methods' pages."""
    blocks = [block for page in pages().values() for block in page.results(state)]
    return [printed(block) for block in blocks if isinstance(block, blocks_of.Table)]


TABLES: Sequence[Callable[[RunState], list[Table]]] = (
    evolution.tables,
    _of_pages,
    run.servers,
    run.stages,
)
"""In the order of printing; a method without results has no tables."""


def print_results(state: RunState, console: Console, directory: RunDirectory) -> None:
    """Print all tables, what each method reached, and the folder of all files; nothing before a stage is finished."""
    printed = [table for tables in TABLES for table in tables(state)]
    for table in printed:
        console.print(table, crop=False)  # a line that is too long for the terminal goes on in the next
    for verdict in verdicts(state.stages):
        console.print(Text(verdict_sentence(verdict)), soft_wrap=True)
    if printed:
        console.print(Text(f"all files: {directory.path}"), soft_wrap=True)
