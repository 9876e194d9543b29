"""Every rule that can settle a decision has its sentence, and no figure of a sentence breaks it."""

from __future__ import annotations

import pytest

from app.wording.gate_text import SENTENCES, gate_sentence
from engine.events import Candidate, DecisionTaken

BARE = {"method": "esm", "example": "a", "m": 2}
FULL = {
    **BARE,
    "memory_size": 7,
    "top_similarity": 0.5,
    "null_score": 0.25,
    "score": 0.75,
    "alpha": 3.0,
    "layer": 2,
    "chosen": "wrong-1",
    "candidates": [
        Candidate(entry="wrong-1", kind="wrong", similarity=0.5, quality=1.0, ahat=0.5, score=0.75),
        Candidate(entry="wrong-2", kind="wrong", similarity=0.4, quality=1.0, ahat=0.4, score=0.1),
    ],
}


@pytest.mark.parametrize("gate", [*SENTENCES, "of_a_later_version"])
@pytest.mark.parametrize("fields", [BARE, FULL], ids=["bare", "full"])
def test_every_gate_reads_as_a_sentence(gate: str, fields: dict) -> None:
    """With all figures or none."""
    sentence = gate_sentence(DecisionTaken(gate=gate, **fields))
    assert sentence[0].isupper() or sentence.startswith(("wrong-1", "null"))
    assert sentence.endswith(".")
    assert "{" not in sentence and "None" not in sentence


def test_the_figures_are_those_of_the_decision() -> None:
    """The winner with its Score, null's Score, α."""
    sentence = gate_sentence(DecisionTaken(gate="chosen", **FULL))
    assert (
        sentence == "wrong-1 scored highest (0.750, null 0.250), so it was injected at layer 2 with α 3.000."
    )


def test_a_memory_is_that_of_the_control_point_before_the_segment() -> None:
    sentence = gate_sentence(DecisionTaken(gate="min_entries", **FULL))
    assert sentence == "The memory holds too few entries at control point 1 (7): fewer than min_entries."


def test_no_rule_of_the_controller_is_forgotten() -> None:
    """`engine.esm.online.decide` lists its rules in this order; `tail` is the rest after the last control point."""
    rules = (
        "first_segment no_memory tool_range min_entries min_sim no_candidates tie null_best tau_null chosen"
    )
    assert set(SENTENCES) == {*rules.split(), "always", "condition", "tail"}
