"""Where the stage pool keeps its files, below `RUN/pool` (spec Pool)."""

from __future__ import annotations

from pathlib import Path


def folder(run_dir: Path) -> Path:
    """`RUN/pool`."""
    return run_dir / "pool"


def initial(run_dir: Path) -> Path:
    """RL data as they were generated, where none were given."""
    return folder(run_dir) / "initial.json"


def initial_evaluated(run_dir: Path) -> Path:
    """One JSON line a pair that generated RL data were scored with."""
    return folder(run_dir) / "initial_evaluated.jsonl"


def neighbours(run_dir: Path) -> Path:
    """npz: the rows nearest to every query, and their similarities."""
    return folder(run_dir) / "neighbours.npz"


def evaluated(run_dir: Path) -> Path:
    """One JSON line a pair that a query was asked with."""
    return folder(run_dir) / "evaluated.jsonl"


def decisions(run_dir: Path) -> Path:
    """One JSON line a finished query: what was decided about its pool and trajectories, and what came of it."""
    return folder(run_dir) / "decisions.jsonl"


def rl_data(run_dir: Path) -> Path:
    """The training queries: 64 candidates and the wanted number of trajectories each."""
    return folder(run_dir) / "rl_data.json"


def heldout(run_dir: Path) -> Path:
    """The held-out queries: 64 candidates each, chosen without a look at their answers, and no trajectories."""
    return folder(run_dir) / "heldout.json"


def oracle(run_dir: Path) -> Path:
    """Table: oracle@64 of every query before and after."""
    return folder(run_dir) / "oracle.csv"


def report(run_dir: Path) -> Path:
    """JSON: the totals."""
    return folder(run_dir) / "report.json"
