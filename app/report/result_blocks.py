"""The result tables that batch prints, as blocks: so every place shows the same figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from rich import table as rich_table
from rich.text import Text

from app.blocks.block import Block, Paragraph, Table
from app.methods.pages import pages
from app.report.method_plots import method_plots
from app.result_tables import evolution, run
from app.state.run import RunState

_TABLES: dict[str, Callable[[RunState], list[rich_table.Table]]] = {
    "Evolution": evolution.tables,
}


def method_blocks(state: RunState, method: str) -> list[Block]:
    """Tables and plots of a method, by its title; none before it has results."""
    if (page := pages().get(method)) is not None:
        return [
            *page.results(state),
            *page.more_results(state),
            *page.training(state),
            *method_plots(state, method),
        ]
    tables = _TABLES[method](state) if method in _TABLES else []
    return [*_blocks(tables), *method_plots(state, method)]


def server_blocks(state: RunState) -> list[Block]:
    """The use of servers."""
    return list(_blocks(run.servers(state)))


def _blocks(tables: Sequence[rich_table.Table]) -> Iterable[Block]:
    for table in tables:
        columns = [list(map(_plain, column.cells)) for column in table.columns]
        header = [_plain(column.header) for column in table.columns]
        figures = sum(column.justify == "right" for column in table.columns)
        yield Table(header, list(zip(*columns, strict=True)), figures, _plain(table.title))
        if table.caption:
            yield from (Paragraph(line) for line in _plain(table.caption).splitlines())


def _plain(cell: object) -> str:
    return cell.plain if isinstance(cell, Text) else str(cell or "")
