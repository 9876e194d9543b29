"""The verdict on an evaluation: accuracy of esm beside greedy's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engine.closest import with_closest
from engine.config.config import Config
from engine.config.esm_methods import METHODS
from engine.esm.evaluation.answer_lines import AnswerLine
from engine.esm.evaluation.compare import compared
from engine.events.verdict import Closest, Verdict
from engine.verdict_curve import running

_NOT_SIMPLER = ("esm", "greedy", "stir")
"""The method, its baseline, and the method with other settings."""


def esm_verdict(
    rows: Mapping[str, Mapping[str, Any]], answers: Mapping[str, Sequence[AnswerLine]], config: Config
) -> Verdict | None:
    """From the rows of the result tables and the answers, by method; None where greedy or esm was not evaluated."""
    esm, greedy = rows.get("esm"), rows.get("greedy")
    if esm is None or greedy is None:
        return None
    better = [
        name
        for name, row in rows.items()
        if not METHODS[name].steers and row["accuracy"] > esm["accuracy"] and name != "greedy"
    ]
    verdict = Verdict(
        method="esm",
        baseline="greedy",
        metric="accuracy",
        items="problems",
        value=esm["accuracy"],
        baseline_value=greedy["accuracy"],
        **{name: esm[name] for name in ("n", "difference", "low", "high", "fixed", "broken")},
        ahead=sorted(better, key=lambda name: -rows[name]["accuracy"]),
        tokens=esm["mean_total_tokens"],
        baseline_tokens=greedy["mean_total_tokens"],
        probe_tokens=esm["mean_probe_tokens"],
        curve=running(line.correct for line in answers["esm"]),
    )
    simpler = (_beside(row, answers[name], answers["esm"], config) for name, row in rows.items()
               if name not in _NOT_SIMPLER)  # fmt: skip
    return with_closest(verdict, simpler)


def _beside(
    row: Mapping[str, Any], answers: Sequence[AnswerLine], esm: Sequence[AnswerLine], config: Config
) -> Closest:
    """An ablation or a baseline beside esm, over the same problems."""
    interval = compared(answers, esm, config)
    return Closest(
        method=row["method"],
        n=row["n"],
        value=row["accuracy"],
        difference=interval.difference,
        low=interval.low,
        high=interval.high,
        tokens=row["mean_total_tokens"],
        probe_tokens=row["mean_probe_tokens"],
    )
