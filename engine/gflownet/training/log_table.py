"""The figures of a training as one table, under the names train/..., val/... and test/... (spec GFlowNet 9.1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

_NO_FIGURES = ("step", "steps", "residual_quantiles", "trajectories_per_second")
"""The last differs from one run to the next."""


def log_table(
    training: Iterable[Mapping[str, Any]], validation: Iterable[Mapping[str, Any]], test: Mapping[str, Any]
) -> tuple[list[dict[str, Any]], list[str]]:
    """Rows by step, and their columns. A row has the figures of one split: of the batch that was trained on, of the
    sampler's independent draws on validation, or on test after the training."""
    rows = [
        {"step": line["step"]}
        | {f"{split}/{name}": value for name, value in line.items() if name not in _NO_FIGURES}
        for split, lines in (("train", training), ("val", validation), ("test", (test,)))
        for line in lines
    ]
    rows.sort(key=lambda row: row["step"])
    return rows, list(dict.fromkeys(name for row in rows for name in row))
