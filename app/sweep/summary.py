"""A sweep's summary: the table of settings, what it says, and how often each stage was done."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rich.table import Table
from rich.text import Text

from app.blocks.block import table_of
from app.blocks.printed import printed
from app.swept.columns import columns_of, setting_rows
from app.swept.words import counts_words, progress_words, remarks
from engine.sweep.results import SweepResults


def summary_lines(results: SweepResults, width: int) -> Iterator[Table | Text]:
    """Everything that is printed at the end, from top to bottom."""
    rows = setting_rows(results, {})
    title = f"Settings, each against its baseline on the same items; {progress_words(results)}"
    for table in table_of(columns_of(rows), rows, title):
        yield printed(replace(table, about=()), ["setting"], width)
    for remark in (*remarks(results), counts_words(results)):
        if remark:
            yield Text(f"- {remark}")
