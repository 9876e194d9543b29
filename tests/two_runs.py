"""Folders of runs with a log of given events: for what reads two runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from engine.events import DecisionTaken, Event, ExampleEvaluated
from tests.made_run import create_run
from tests.synthetic_run import write_log


def make_run(
    outputs: Path,
    name: str,
    events: Iterable[Event],
    config: Mapping[str, Any] | None = None,
    *,
    seed: int = 0,
    status: str = "finished",
    versions: Mapping[str, str] | None = None,
) -> Path:
    """A run's folder with this log."""
    run = create_run(
        outputs,
        name,
        seed=seed,
        stages=["eval"],
        config=config or {},
        config_text="{}\n",
        versions=versions or {},
    )
    record = run.read()
    record.status = status
    run.write(record)
    write_log(run.events, [msgspec.structs.replace(e, seq=i, time=1.0 + i) for i, e in enumerate(events)])
    return run.path


def evaluated(
    method: str, example: str, correct: bool, text: str = "", question: str = ""
) -> ExampleEvaluated:
    """An evaluated example."""
    return ExampleEvaluated(
        method=method, index=0, example=example, question=question or f"question {example}", gold="1",
        pred="1" if correct else "2", correct=correct, tokens_used=10, budget_used=12, text=text, stage="eval",
    )  # fmt: skip


def decided(example: str, m: int, **fields: Any) -> DecisionTaken:
    """A decision of esm; by default null without a probe."""
    return DecisionTaken(
        **{"method": "esm", "example": example, "m": m, "gate": "null_best", "stage": "eval"} | fields
    )
