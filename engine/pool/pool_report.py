"""`oracle.csv` and `report.json`: every query's oracle, and the totals."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from math import fsum
from typing import Any

from engine.events import OracleTotal, PoolTotals, without_envelope
from engine.files import csv_text, write_atomic
from engine.pool import layout
from engine.pool.improve import COMMITTED, GIVEN, REFUSED
from engine.pool.pool_work import DecisionLine
from engine.pool.trajectory_quality_controller import is_positive
from engine.pool.verdicts import pool_verdict
from engine.pool.vqa.evaluated_pairs import EvaluatedPair
from engine.run.stage import StageContext, StageResult
from engine.wilson import wilson

_COLUMNS = (
    "query_id", "given_pool", "oracle_before", "oracle_after", "injected", "asked", "failed",
    "committed", "warning",
)  # fmt: skip


def write_report(
    context: StageContext,
    lines: Sequence[DecisionLine],
    heldout: int,
    evaluated: Iterable[EvaluatedPair],
    model: str,
) -> StageResult:
    """Write both files from the lines of decisions.jsonl and all evaluated pairs; also logs the totals."""
    decisions = [line.decision for line in lines if line.decision is not None]
    left_out = Counter(line.left_out for line in lines if line.left_out)
    totals = _totals(decisions, dict(left_out), heldout, list(evaluated), model)
    run_dir = context.run_dir
    write_atomic(layout.oracle(run_dir), csv_text([_row(decision) for decision in decisions], _COLUMNS))
    fields = without_envelope(totals)
    write_atomic(layout.report(run_dir), json.dumps(fields, indent=2, ensure_ascii=False) + "\n")
    context.emit(totals)
    for reason, count in left_out.items():
        context.notice(f"{count} of {len(lines)} queries were left out: {reason}", level="warning")
    for text, count in Counter(decision["warning"] for decision in decisions).items():
        if text:
            context.notice(
                f"{count} of {len(decisions)} queries: {text} (see pool/oracle.csv)", level="warning"
            )
    paths = (
        layout.rl_data(run_dir), layout.heldout(run_dir), layout.evaluated(run_dir), layout.decisions(run_dir),
        layout.oracle(run_dir), layout.report(run_dir),
    )  # fmt: skip
    summary: dict[str, float | int | str] = {
        "queries": totals.queries,
        "oracle_before": round(totals.before.mean, 4),
        "oracle_after": round(totals.after.mean, 4),
        "positive_before": totals.before.positive,
        "positive_after": totals.after.positive,
        "injected": totals.injected,
        "asked": totals.asked,
    }
    if left_out:
        summary["left_out"] = sum(left_out.values())
    before, after = ([line[name] for line in decisions] for name in ("oracle_before", "oracle_after"))
    verdict = pool_verdict(before, after, context.config.run.seed, totals.cost)
    return StageResult(summary, [str(path.relative_to(run_dir)) for path in paths if path.exists()], verdict)


def _totals(
    decisions: Sequence[dict[str, Any]],
    left_out: dict[str, int],
    heldout: int,
    evaluated: Sequence[EvaluatedPair],
    model: str,
) -> PoolTotals:
    dropped: Counter[str] = Counter()
    for decision in decisions:
        dropped.update(decision["dropped"])
    trajectories = [t for decision in decisions for t in decision["trajectories"]]
    rules = Counter(f"{t['verdict']}: {t['rule']}" for t in trajectories if t["verdict"] != GIVEN)
    return PoolTotals(
        queries=len(decisions),
        before=_oracle([decision["oracle_before"] for decision in decisions]),
        after=_oracle([decision["oracle_after"] for decision in decisions]),
        left_out=left_out,
        heldout=heldout,
        injected=sum(len(decision["injected"]) for decision in decisions),
        warnings=sum(bool(decision["warning"]) for decision in decisions),
        dropped=dict(dropped),
        rules=dict(rules),
        reserve=sum(t.get("kept", 0) for t in trajectories if t["verdict"] == REFUSED),
        repeated=sum(max(0, t.get("kept", 0) - 1) for t in trajectories),
        asked=len(evaluated),
        failed=sum(pair.score is None for pair in evaluated),
        calls=sum(pair.calls for pair in evaluated),
        tokens=sum(pair.tokens for pair in evaluated),
        cost=fsum(pair.cost for pair in evaluated),  # whatever order they came in
        model=model,
    )


def _oracle(scores: Sequence[float]) -> OracleTotal:
    positive = sum(map(is_positive, scores))
    low, high = wilson(positive, len(scores))
    return OracleTotal(mean=sum(scores) / len(scores), positive=positive, low=low, high=high)


def _row(decision: dict[str, Any]) -> dict[str, Any]:
    committed = sum(t["verdict"] == COMMITTED for t in decision["trajectories"])
    return {**decision, "injected": len(decision["injected"]), "committed": committed}
