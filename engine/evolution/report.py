"""What came of an evolution: the best deltas against no processor and a length cap, as table and as summary.

Measured on the test set, which decided nothing before: the best is the luckiest on the validation set, too.
"""

from __future__ import annotations

from engine.events import without_envelope
from engine.evolution import layout
from engine.evolution.answers import TEST, TEST_PLAIN
from engine.evolution.comparison import compare
from engine.evolution.setup import Setup
from engine.evolution.split_answers import Asking
from engine.files import csv_text, write_atomic
from engine.run.stage import StageResult


def write_report(setup: Setup, asking: Asking, reason: str) -> StageResult:
    """Asks the test set and writes `tables/test.csv`."""
    run_dir, history, config = setup.context.run_dir, setup.history, setup.context.config
    best = history.best
    assert best is not None, "the first iteration is always validated"
    plain, evolved = (0, TEST_PLAIN), (best.iteration, TEST)
    for key, deltas in ((plain, None), (evolved, best.deltas)):
        if not asking.complete(*key):
            asking.serve(deltas, layout.processor_best(run_dir))
        asking.ask(*key)
        asking.scored(*key)
    rows = compare(
        setup.answers.given(*plain),
        setup.answers.given(*evolved),
        asking.verdict_on_tokens,
        config.evolution.SHORTNESS_SCALE,
        config.run.seed,
    )
    write_atomic(layout.comparison(run_dir), csv_text([without_envelope(row) for row in rows]))
    for row in rows:
        setup.context.emit(row)
    baseline, _, steered = rows
    usage = history.usage + asking.usage_of(plain, evolved) + asking.spent_on_caps
    summary: dict[str, float | int | str] = {
        "iterations": len(history.iterations),
        "ended": reason,
        "best_iteration": best.iteration,
        "composite": round(steered.composite, 4),
        "composite_before": round(baseline.composite, 4),
        "tokens": round(steered.mean_tokens, 1),
        "tokens_before": round(baseline.mean_tokens, 1),
        "correctness": round(steered.correctness, 4),
        "correctness_before": round(baseline.correctness, 4),
        "spent_calls": usage.calls,
        "spent_tokens": usage.tokens,
        "spent_cost": round(usage.cost, 6),
    }
    written = [
        layout.deltas_best, layout.processor_best, layout.deltas_current, layout.processor, layout.history,
        layout.answers, layout.plot, lambda run: layout.plot(run).with_suffix(".svg"), layout.comparison,
    ]  # fmt: skip
    files = [file(run_dir) for file in written]
    return StageResult(summary, [str(path.relative_to(run_dir)) for path in files if path.is_file()])
