"""dropped.json: how many samples each stage left out of each split, by reason."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from engine.errors import DataError
from engine.files import decoded, write_atomic
from engine.gflownet import layout

NO_ANSWER = "no answer is given"
EMPTY_GRAPH, NO_START = "an empty graph", "no question entity in the graph"
"""Reasons of the stage `graphs`, beside those for rows that are no questions or stand in another place."""


def write_dropped(run_dir: Path, stage: str, split: str, reasons: Mapping[str, int]) -> None:
    """Record a stage's counts for a split; the other counts stay."""
    path = layout.dropped_samples(run_dir)
    counts = _counts(path)
    counts.setdefault(stage, {})[split] = dict(reasons)
    write_atomic(path, json.dumps(counts, indent=2, ensure_ascii=False) + "\n")


def read_dropped(run_dir: Path, stage: str, split: str) -> dict[str, int] | None:
    """The counts that `write_dropped` recorded; None if it did not."""
    return _counts(layout.dropped_samples(run_dir)).get(stage, {}).get(split)


def missed_questions(run_dir: Path, split: str) -> int:
    """Questions with an answer that were left out because no path in their graph leads to it: the benchmarks of the
    field count them as missed. Raises DataError where they were not counted."""
    graphs, agent_graphs = (read_dropped(run_dir, stage, split) for stage in ("graphs", "agent-graphs"))
    if graphs is None or agent_graphs is None:
        raise DataError(
            what=f"it is not known how many {split} questions were left out",
            where=str(layout.dropped_samples(run_dir)),
            hint="run the stages graphs and agent-graphs again: they count what they leave out",
        )
    return graphs.get(EMPTY_GRAPH, 0) + graphs.get(NO_START, 0) + sum(agent_graphs.values())


def _counts(path: Path) -> dict[str, dict[str, dict[str, int]]]:
    if not path.is_file():
        return {}
    hint = "remove it; its stages count again when they run"
    return decoded(path, dict[str, dict[str, dict[str, int]]], "these are not counts", hint)
