"""Where ESM keeps its files, below `RUN/esm` (spec ESM 3.8, 4.5, 5.1, 7.2)."""

from __future__ import annotations

from pathlib import Path


def folder(run_dir: Path) -> Path:
    """`RUN/esm`."""
    return run_dir / "esm"


def mine(run_dir: Path) -> Path:
    """rollouts.jsonl, candidates.jsonl, keys/*.pt, vectors/*.pt"""
    return folder(run_dir) / "mine"


def library(run_dir: Path) -> Path:
    """library.jsonl, keys/*.pt, vectors/*.pt"""
    return folder(run_dir) / "library"


def memory(run_dir: Path) -> Path:
    """keys.npy, entries.jsonl, memory.json"""
    return folder(run_dir) / "memory"


def evaluation(run_dir: Path, method: str) -> Path:
    """per_example.jsonl, summary.jsonl of one method"""
    return folder(run_dir) / "eval" / method


def tables(run_dir: Path) -> Path:
    """main_results_single.csv, ablation.csv, diagnostics and comparisons"""
    return folder(run_dir) / "tables"


def cases(run_dir: Path) -> Path:
    """cases_T*.md"""
    return folder(run_dir) / "cases"
