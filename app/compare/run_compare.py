"""Prints a comparison of two runs, as tables or as JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from rich.console import Console

from app.blocks.block import Block, Bullets, Paragraph
from app.blocks.printed import print_blocks
from app.compare.json_form import json_form
from app.compared.tables import changed_fields, method_tables
from app.compared.words import run_words
from engine.comparison.comparison import compare_runs


def run_compare(a: Path, b: Path, as_json: bool, console: Console) -> int:
    """Compare the runs in two folders and print it; returns the exit code. Raises SteerErrors."""
    comparison = compare_runs(a, b)
    if as_json:
        sys.stdout.write(json.dumps(json_form(comparison), indent=1) + "\n")
        return 0
    runs = run_words((comparison.a, comparison.b))
    blocks: list[Block] = [
        *(Paragraph(f"{letter}: {run.name} ({run.about})") for letter, run in zip("AB", runs, strict=True)),
        changed_fields(comparison),
        *method_tables(comparison),
        Bullets(comparison.remarks),
    ]
    if comparison.arms:
        blocks.append(Paragraph("--json lists every item, and where its two answers part."))
    print_blocks(blocks, console, ["B"])
    return 0
