"""The evolution's result: the best deltas against no processor and a length cap, as table and as summary.

Measured on the test set, which decided nothing before: on the validation set the best deltas were also lucky.
"""

from __future__ import annotations

from engine.events import without_envelope
from engine.evolution import layout
from engine.evolution.answers import TEST, TEST_PLAIN
from engine.evolution.comparison import compare
from engine.evolution.evolution_run import EvolutionRun
from engine.evolution.split_evaluator import SplitEvaluator
from engine.files import csv_text, write_atomic
from engine.run.stage import StageResult
from engine.servers.spent import Spent


def write_report(
    evolution: EvolutionRun, evaluator: SplitEvaluator, reason: str, measured: Spent
) -> StageResult:
    """Evaluate the test set and write `tables/test.csv`. `measured`: what holding the judge against labels cost."""
    run_dir, history, config = evolution.context.run_dir, evolution.history, evolution.context.config
    best = history.best
    assert best is not None, "the first iteration is always validated"
    plain, evolved = (0, TEST_PLAIN), (best.iteration, TEST)
    for key, deltas in ((plain, None), (evolved, best.deltas)):
        if not evaluator.is_complete(*key):
            evaluator.serve(deltas, layout.processor_best(run_dir))
        evaluator.ask(*key)
        evaluator.report_score(*key)
    rows = compare(
        evolution.answers.of_split(*plain),
        evolution.answers.of_split(*evolved),
        evaluator.verdict_on_tokens,
        config.evolution.SHORTNESS_SCALE,
        config.run.seed,
    )
    write_atomic(layout.comparison(run_dir), csv_text([without_envelope(row) for row in rows]))
    for row in rows:
        evolution.context.emit(row)
    baseline, _, steered = rows
    usage = history.usage + evaluator.usage_of(plain, evolved) + evaluator.spent_on_caps + measured
    summary: dict[str, float | int | str] = {
        "iterations": len(history.iterations),
        "ended": reason,
        "best_iteration": best.iteration,
        "composite": round(steered.composite, 4),
        "composite_before": round(baseline.composite, 4),
        "tokens": round(steered.mean_tokens, 1),
        "tokens_before": round(baseline.mean_tokens, 1),
        "judged": steered.n,
        "cannot_tell": steered.cannot_tell,
        "correctness": round(steered.correctness, 4),
        "correctness_before": round(baseline.correctness, 4),
        "spent_calls": usage.calls,
        "spent_tokens": usage.tokens,
        "spent_cost": round(usage.cost, 6),
    }
    written = [
        layout.deltas_best, layout.processor_best, layout.deltas_current, layout.processor, layout.history,
        layout.answers, layout.plot, lambda run: layout.plot(run).with_suffix(".svg"), layout.comparison,
        layout.judge_labels, layout.judge_table,
    ]  # fmt: skip
    files = [file(run_dir) for file in written]
    return StageResult(summary, [str(path.relative_to(run_dir)) for path in files if path.is_file()])
