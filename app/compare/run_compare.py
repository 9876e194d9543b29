"""Prints a comparison of two runs, as tables or as JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from app.compare.json_form import json_form
from app.comparison_text import finding, run_words
from app.figures import fixed, interval, probability, signed
from app.result_tables.layout import result_tables
from engine.comparison.comparison import ArmPair, Comparison, compare_runs

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
    lines: list[Table | Text] = [
        Text(f"A: {run_words(comparison.a)}"),
        Text(f"B: {run_words(comparison.b)}"),
    ]
    changed = [(field.name, field.a or "not there", field.b or "not there") for field in comparison.changed]
    lines += result_tables("Changed fields", ["field", "A", "B"], [], changed, folded="B")
    if not changed:
        lines.append(Text("Changed fields: none"))
    for system in dict.fromkeys(arm.a.system for arm in comparison.arms):
        rows = [_row(arm, wide) for arm in comparison.arms if arm.a.system == system]
        title = f"{system}, over the items that are in both runs"
        lines += result_tables(title, ["method", "finding"], _WIDE if wide else _NARROW, rows)
    lines += [Text(f"- {remark}") for remark in comparison.remarks]
    if comparison.arms:
        lines.append(Text("--json lists every item, and where its two answers part."))
    return lines


def _row(arm: ArmPair, wide: bool) -> tuple[str, ...]:
    f = arm.figures
    only = f"{f.cells[1]}/{f.cells[2]}" if f.cells else ""
    narrow = (signed(f.difference), interval(f.low, f.high), probability(f.p), only)
    if not wide:
        return (arm.a.name, finding(f), *narrow)
    tokens = "" if f.tokens_a is None else f"{f.tokens_a:.0f} → {f.tokens_b:.0f}"
    return (arm.a.name, finding(f), str(f.n), fixed(f.mean_a), fixed(f.mean_b), *narrow, tokens)
