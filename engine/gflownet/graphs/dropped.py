"""dropped.json: how many samples each stage left out of each split, by reason."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from engine.errors import DataError
from engine.files import write_atomic
from engine.gflownet import layout


def write_dropped(run_dir: Path, stage: str, split: str, reasons: Mapping[str, int]) -> None:
    """Record a stage's counts for a split; the other counts stay."""
    path = layout.dropped_samples(run_dir)
    counts = _counts(path)
    counts.setdefault(stage, {})[split] = dict(reasons)
    write_atomic(path, json.dumps(counts, indent=2, ensure_ascii=False) + "\n")


def read_dropped(run_dir: Path, stage: str, split: str) -> dict[str, int]:
    """The counts that `write_dropped` recorded, or none."""
    return _counts(layout.dropped_samples(run_dir)).get(stage, {}).get(split, {})


def _counts(path: Path) -> dict[str, dict[str, dict[str, int]]]:
    if not path.is_file():
        return {}
    try:
        return json.loads(path.read_text())
    except ValueError as error:
        raise DataError(
            what=f"no JSON: {error}", where=str(path), mend="remove it; its stages count again when they run"
        ) from error
