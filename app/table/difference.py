"""A method's difference from its baseline, with the sign that says whether it is better."""

from __future__ import annotations

from app.table.column import Cell, Tone
from app.wording.figures import of_unit
from app.wording.verdict_text import verdict_sign
from engine.events.verdict import Verdict


def difference_cell(verdict: Verdict) -> Cell:
    """`▲ +0.330`, `▼ −0.020`; `≈ +0.010` where the interval holds zero; `◌ +0.330` of an earlier attempt."""
    sign = verdict_sign(verdict)
    tones: dict[str, Tone] = {"▲": "good", "▼": "bad"}
    return Cell(
        f"{sign} {of_unit(verdict.difference, verdict.unit, is_difference=True)}", tones.get(sign, "dim")
    )
