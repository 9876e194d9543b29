"""Paths of the stage's files, below `RUN/selector` (spec Pool). Its evaluated pairs are in
`RUN/pool/evaluated.jsonl`, with all others."""

from __future__ import annotations

from pathlib import Path


def folder(run_dir: Path) -> Path:
    """`RUN/selector`."""
    return run_dir / "selector"


def checkpoint(run_dir: Path) -> Path:
    """Weights, optimiser and position in the data."""
    return folder(run_dir) / "selector.pt"


def training_log(run_dir: Path) -> Path:
    """A JSON line for each logged training step."""
    return folder(run_dir) / "training.jsonl"


def picks(run_dir: Path) -> Path:
    """Every method's picks: a JSON line for each held-out query."""
    return folder(run_dir) / "picks.jsonl"


def comparison(run_dir: Path) -> Path:
    """Table: the methods on the held-out queries."""
    return folder(run_dir) / "comparison.csv"
