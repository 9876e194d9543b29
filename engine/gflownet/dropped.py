"""dropped.json: how many samples each stage left out of each split, by reason."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from engine.files import write_atomic
from engine.gflownet import layout


def write_dropped(run_dir: Path, stage: str, split: str, reasons: Mapping[str, int]) -> None:
    """Note one stage's counts for one split; the others' stay."""
    path = layout.dropped_samples(run_dir)
    counts = json.loads(path.read_text()) if path.is_file() else {}
    counts.setdefault(stage, {})[split] = dict(reasons)
    write_atomic(path, json.dumps(counts, indent=2, ensure_ascii=False) + "\n")
