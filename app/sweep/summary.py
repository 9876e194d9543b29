"""A sweep's summary: the table of settings, what it says, and how often each stage was done."""

from __future__ import annotations

from dataclasses import replace

from app.blocks.block import Block, Bullets, table_of
from app.swept.columns import COLUMNS, setting_rows
from app.swept.words import counts_words, progress_words, remarks
from engine.sweep.results import SweepResults


def summary(results: SweepResults) -> list[Block]:
    """Everything that is printed at the end, from top to bottom."""
    rows = setting_rows(results, {})
    title = f"Settings, each against its baseline on the same items; {progress_words(results)}"
    tables = [replace(table, about=()) for table in table_of(COLUMNS, rows, title)]
    return [*tables, Bullets(list(filter(None, (*remarks(results), counts_words(results)))))]
