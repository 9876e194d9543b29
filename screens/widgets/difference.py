"""A method's difference from its baseline, with the sign that says whether it is better."""

from __future__ import annotations

from app.figures import of_unit
from app.stage_words import STALE_SIGN
from app.table.column import Cell
from engine.events.verdict import Verdict


def difference_cell(verdict: Verdict) -> Cell:
    """`▲ +0.330`, `▼ −0.020`; `≈ +0.010` where the interval holds zero; `◌ +0.330` of an earlier attempt."""
    text = of_unit(verdict.difference, verdict.unit, is_difference=True)
    if verdict.stale:
        return Cell(f"{STALE_SIGN} {text}", "dim")
    if not verdict.shown:
        return Cell(f"≈ {text}", "dim")
    return Cell(f"▲ {text}", "good") if verdict.better else Cell(f"▼ {text}", "bad")
