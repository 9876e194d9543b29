"""Where ESM keeps its files below a run directory (spec ESM 3.8, 4.5, 5.1, 7.2)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from engine.errors import DataError


@dataclass(frozen=True)
class EsmLayout:
    """Folders of one run's ESM files."""

    run_dir: Path

    @property
    def root(self) -> Path:
        """`RUN/esm`."""
        return self.run_dir / "esm"

    @property
    def mine(self) -> Path:
        """rollouts.jsonl, candidates.jsonl, keys/*.pt, vectors/*.pt"""
        return self.root / "mine"

    @property
    def library(self) -> Path:
        """library.jsonl, keys/*.pt, vectors/*.pt"""
        return self.root / "library"

    @property
    def memory(self) -> Path:
        """keys.npy, entries.jsonl, memory.json"""
        return self.root / "memory"

    def eval(self, tag: str) -> Path:
        """per_example.jsonl, summary.jsonl of one method"""
        return self.root / "eval" / tag

    @property
    def tables(self) -> Path:
        """main_results_single.csv, ablation.csv, diagnostics and comparisons"""
        return self.root / "tables"

    @property
    def cases(self) -> Path:
        """cases_T*.md"""
        return self.root / "cases"

    def relative(self, path: Path) -> str:
        """`path` as events name it."""
        return path.relative_to(self.run_dir).as_posix()


def required(path: Path, stage: str) -> Path:
    """`path`, or a DataError that names the stage which writes it."""
    if not path.exists():
        raise DataError(
            what=f"`{path.name}` is not there",
            where=str(path),
            mend=f"run the stage `{stage}` of this run first",
        )
    return path
