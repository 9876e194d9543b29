"""Where the stage selector keeps its files, below `RUN/selector` (spec Pool). What it asks stands in
`RUN/pool/evaluated.jsonl`, with all other pairs."""

from __future__ import annotations

from pathlib import Path


def folder(run_dir: Path) -> Path:
    """`RUN/selector`."""
    return run_dir / "selector"


def checkpoint(run_dir: Path) -> Path:
    """Weights, optimiser and position in the data."""
    return folder(run_dir) / "selector.pt"


def training_log(run_dir: Path) -> Path:
    """One JSON line a logged training step."""
    return folder(run_dir) / "training.jsonl"


def picks(run_dir: Path) -> Path:
    """One JSON line a held-out query: every method's pick."""
    return folder(run_dir) / "picks.jsonl"


def comparison(run_dir: Path) -> Path:
    """Table: the methods on the held-out queries."""
    return folder(run_dir) / "comparison.csv"
