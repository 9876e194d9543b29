"""A comparison as tables, for the command line."""

from __future__ import annotations

from dataclasses import replace

from app.blocks.block import Block, Paragraph, Table, cut, table_of
from app.compared.columns import METHODS
from engine.comparison.comparison import Comparison


def changed_fields(comparison: Comparison) -> Block:
    """The fields in which the configurations differ."""
    rows = [(c.name, cut(c.a, 200) or "not there", cut(c.b, 200) or "not there") for c in comparison.changed]
    return (
        Table(("changed field", "A", "B"), rows)
        if rows
        else Paragraph("No field of the configuration differs.")
    )


def method_tables(comparison: Comparison) -> list[Table]:
    """A table for each method, with a row for each way in which both runs answered its items."""
    columns = [column for column in METHODS if column.key != "system"]
    tables: list[Table] = []
    for system in dict.fromkeys(arm.a.system for arm in comparison.arms):
        arms = [arm for arm in comparison.arms if arm.a.system == system]
        tables += table_of(columns, arms, f"{system}, over the items that are in both runs")
    return [replace(table, about=()) for table in tables]
