"""Evolved deltas as a lever: a number for each cluster of tokens, added to their logits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.config.models.model import ModelSection
from engine.errors import DataError
from engine.evolution import layout
from engine.evolution.clusters.cluster_map import load_cluster_map
from engine.evolution.deltas import read_deltas
from engine.evolution.processor import expected_row
from engine.levers.lever import DELTAS, LeverDid
from engine.lm.protocol import LogitsProcessor
from engine.lm.vocabulary import load_vocabulary


class RowAdder:
    """A logits processor that adds one row to all logits. `row`: float32 (vocab_size,)."""

    def __init__(self, row: NDArray[np.float32]) -> None:
        self._row = row
        self._on: Any = None

    def __call__(self, written: Sequence[Sequence[int]], logits: Any) -> Any:
        """Logits (rows, vocab_size) with the row added."""
        if self._on is None or self._on.device != logits.device:
            import torch

            self._on = torch.from_numpy(self._row).to(logits.device)
        return logits + self._on

    def __reduce__(self) -> tuple[type[RowAdder], tuple[NDArray[np.float32]]]:
        return RowAdder, (self._row,)


class DeltasLever:
    """The best deltas of a run's evolution."""

    def __init__(self, run_dir: Path, section: ModelSection) -> None:
        """Raises DataError where there are none, or for another vocabulary."""
        path = layout.deltas_best(run_dir)
        if not path.exists():
            raise DataError(
                what="no evolved deltas",
                where=str(path),
                hint="run the stages `clusters` and `evolve` of this run",
            )
        clusters = load_cluster_map(layout.folder(run_dir))
        if clusters.vocabulary != load_vocabulary(section).fingerprint:
            raise DataError(
                what=f"the deltas are for another vocabulary, of {clusters.vocab_size} tokens",
                where=str(path),
                hint="evolve deltas with this model",
            )
        self._deltas = read_deltas(path, clusters.names)
        self.processor: LogitsProcessor = RowAdder(expected_row(clusters, self._deltas))
        """Adds the deltas: one for all texts, so that rows of a batch share it."""
        self.changed = sum(delta != 0 for delta in self._deltas.values())
        self.about = f"deltas of {self.changed} of {clusters.count} clusters"

    def did(self) -> LeverDid:
        """What they do to every token."""
        numbers = ", ".join(f"{cluster}: {delta:+g}" for cluster, delta in self._deltas.items() if delta)
        what = f"added to the logits, by cluster: {numbers}" if numbers else "all deltas are 0"
        return LeverDid(lever=DELTAS, acted=bool(numbers), what=what)
