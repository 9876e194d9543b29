"""Prints a comparison of two runs as tables."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from app.blocks.block import Block, Bullets, Paragraph
from app.blocks.printed import print_blocks
from app.compared.tables import changed_fields, method_tables
from app.compared.words import run_words
from engine.comparison.comparison import compare_runs


def print_comparison(a: Path, b: Path, console: Console) -> int:
    """Compare the runs in two folders and print it; returns the exit code. Raises SteerErrors."""
    comparison = compare_runs(a, b)
    runs = run_words((comparison.a, comparison.b))
    blocks: list[Block] = [
        *(Paragraph(f"{letter}: {run.name} ({run.about})") for letter, run in zip("AB", runs, strict=True)),
        changed_fields(comparison),
        *method_tables(comparison),
        Bullets(comparison.remarks),
    ]
    print_blocks(blocks, console, ["A", "B"])
    return 0
