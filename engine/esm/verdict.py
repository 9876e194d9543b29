"""The verdict on an evaluation: accuracy of esm beside greedy's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engine.config.esm_methods import METHODS
from engine.esm.answer_lines import AnswerLine
from engine.events.verdict import Verdict
from engine.verdict_curve import running


def esm_verdict(
    rows: Mapping[str, Mapping[str, Any]], answers: Mapping[str, Sequence[AnswerLine]]
) -> Verdict | None:
    """From the rows of the result tables and the answers, by method; None where greedy or esm was not evaluated."""
    own, greedy = rows.get("esm"), rows.get("greedy")
    if own is None or greedy is None:
        return None
    better = [
        name
        for name, row in rows.items()
        if not METHODS[name].steers and row["accuracy"] > own["accuracy"] and name != "greedy"
    ]
    return Verdict(
        method="esm",
        baseline="greedy",
        metric="accuracy",
        items="problems",
        n=own["n"],
        value=own["accuracy"],
        baseline_value=greedy["accuracy"],
        difference=own["difference"],
        low=own["low"],
        high=own["high"],
        fixed=own["fixed"],
        broken=own["broken"],
        ahead=sorted(better, key=lambda name: -rows[name]["accuracy"]),
        tokens=own["mean_total_tokens"],
        baseline_tokens=greedy["mean_total_tokens"],
        curve=running(line.correct for line in answers["esm"]),
    )
