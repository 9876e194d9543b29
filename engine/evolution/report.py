"""What came of an evolution: the best deltas against no processor and a length cap, as table and as summary."""

from __future__ import annotations

import msgspec

from engine.events import Event, MethodCompared
from engine.evolution.answers import BASELINE, VALIDATION
from engine.evolution.asking import Asking
from engine.evolution.comparison import compare
from engine.evolution.setup import Setup
from engine.files import csv_text, write_atomic
from engine.stage import StageResult


def write_report(setup: Setup, asking: Asking, reason: str) -> StageResult:
    """Writes `tables/validation.csv`."""
    layout, history, config = setup.layout, setup.history, setup.context.config
    best = history.best
    assert best is not None, "the first iteration is always validated"
    rows = compare(
        setup.book.given(0, BASELINE),
        setup.book.given(best.iteration, VALIDATION),
        asking.verdict_on_tokens,
        config.evolution.SHORTNESS_SCALE,
        config.run.seed,
    )
    write_atomic(layout.comparison, _csv(rows))
    for row in rows:
        setup.context.emit(row)
    baseline, _, evolved = rows
    summary: dict[str, float | int | str] = {
        "iterations": len(history.iterations),
        "ended": reason,
        "best_iteration": best.iteration,
        "composite": round(evolved.composite, 4),
        "composite_before": round(baseline.composite, 4),
        "tokens": round(evolved.mean_tokens, 1),
        "tokens_before": round(baseline.mean_tokens, 1),
        "correctness": round(evolved.correctness, 4),
        "correctness_before": round(baseline.correctness, 4),
    }
    files = [
        layout.deltas_best, layout.processor_best, layout.deltas_current, layout.processor, layout.history,
        layout.answers, layout.plot, layout.plot.with_suffix(".svg"), layout.comparison,
    ]  # fmt: skip
    return StageResult(summary, [layout.relative(path) for path in files if path.is_file()])


def _csv(rows: list[MethodCompared]) -> str:
    """The events' own fields, without what every event carries."""
    names = [name for name in MethodCompared.__struct_fields__ if name not in Event.__struct_fields__]
    return csv_text([msgspec.structs.asdict(row) for row in rows], names)
