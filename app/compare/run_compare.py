"""Prints a comparison of two runs, as tables or as JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from app.blocks.block import Table as Block
from app.blocks.printed import printed
from app.compare.json_form import json_form
from app.comparison_text import run_words, table_row
from engine.comparison.comparison import Comparison, compare_runs

_NARROW = ("B − A", "95% interval", "p", "only A/B")
_WIDE = ("n", "A", "B", *_NARROW, "tokens")
_ROOMY = 115
"""Columns from which all figures fit."""


def run_compare(a: Path, b: Path, as_json: bool, console: Console) -> int:
    """Compare the runs in two folders and print it; returns the exit code. Raises SteerErrors."""
    comparison = compare_runs(a, b)
    if as_json:
        sys.stdout.write(json.dumps(json_form(comparison), indent=1) + "\n")
        return 0
    for line in comparison_lines(comparison, wide=console.width >= _ROOMY):
        console.print(line, soft_wrap=isinstance(line, Text))
    return 0


def comparison_lines(comparison: Comparison, wide: bool) -> list[Table | Text]:
    """Everything that is printed, from top to bottom."""
    words = run_words((comparison.a, comparison.b))
    lines: list[Table | Text] = [
        Text(f"{letter}: {run.name} ({run.about})") for letter, run in zip("AB", words, strict=True)
    ]
    changed = [(field.name, field.a or "not there", field.b or "not there") for field in comparison.changed]
    if changed:
        lines.append(printed(Block(("field", "A", "B"), changed, caption="Changed fields"), ["B"]))
    else:
        lines.append(Text("Changed fields: none"))
    names = _WIDE if wide else _NARROW
    for system in dict.fromkeys(arm.a.system for arm in comparison.arms):
        rows = [table_row(arm, names) for arm in comparison.arms if arm.a.system == system]
        title = f"{system}, over the items that are in both runs"
        lines.append(printed(Block(("method", "finding", *names), rows, len(names), title)))
    lines += [Text(f"- {remark}") for remark in comparison.remarks]
    if comparison.arms:
        lines.append(Text("--json lists every item, and where its two answers part."))
    return lines
