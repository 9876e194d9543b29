"""Paths of the stage's files, below `RUN/pool` (spec Pool)."""

from __future__ import annotations

from pathlib import Path


def folder(run_dir: Path) -> Path:
    """`RUN/pool`."""
    return run_dir / "pool"


def initial(run_dir: Path) -> Path:
    """Generated RL data, in a run without a file of RL data."""
    return folder(run_dir) / "initial.json"


def initial_evaluated(run_dir: Path) -> Path:
    """Pairs by which generated RL data were scored: a JSON line for each."""
    return folder(run_dir) / "initial_evaluated.jsonl"


def evaluated(run_dir: Path) -> Path:
    """Evaluated pairs: a JSON line for each query and pair."""
    return folder(run_dir) / "evaluated.jsonl"


def decisions(run_dir: Path) -> Path:
    """Decisions on pool and trajectories, and the resulting query: a JSON line for each finished query."""
    return folder(run_dir) / "decisions.jsonl"


def rl_data(run_dir: Path) -> Path:
    """The training queries: 64 candidates and the required number of trajectories each."""
    return folder(run_dir) / "rl_data.json"


def heldout(run_dir: Path) -> Path:
    """The held-out queries: 64 candidates each, chosen without their answers, and no trajectories."""
    return folder(run_dir) / "heldout.json"


def oracle(run_dir: Path) -> Path:
    """Table: oracle@64 of every query before and after."""
    return folder(run_dir) / "oracle.csv"


def report(run_dir: Path) -> Path:
    """JSON: the totals."""
    return folder(run_dir) / "report.json"
