"""Prints a comparison of two runs, as tables or as JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from app.blocks.block import Block
from app.blocks.block import Table as TableBlock
from app.blocks.printed import printed
from app.compare.json_form import json_form
from app.compared.tables import changed_fields, method_tables
from app.compared.words import run_words
from engine.comparison.comparison import Comparison, compare_runs


def run_compare(a: Path, b: Path, as_json: bool, console: Console) -> int:
    """Compare the runs in two folders and print it; returns the exit code. Raises SteerErrors."""
    comparison = compare_runs(a, b)
    if as_json:
        sys.stdout.write(json.dumps(json_form(comparison), indent=1) + "\n")
        return 0
    for line in comparison_lines(comparison, console.width):
        console.print(line, soft_wrap=isinstance(line, Text))
    return 0


def comparison_lines(comparison: Comparison, width: int) -> list[Table | Text]:
    """Everything that is printed, from top to bottom."""
    words = run_words((comparison.a, comparison.b))
    lines: list[Table | Text] = [
        Text(f"{letter}: {run.name} ({run.about})") for letter, run in zip("AB", words, strict=True)
    ]
    blocks: list[Block] = [changed_fields(comparison), *method_tables(comparison)]
    for block in blocks:
        if isinstance(block, TableBlock):
            lines.append(printed(block, ["B"], width))
        else:
            lines.append(Text("No field of the configuration differs."))
    lines += [Text(f"- {remark}") for remark in comparison.remarks]
    if comparison.arms:
        lines.append(Text("--json lists every item, and where its two answers part."))
    return lines
