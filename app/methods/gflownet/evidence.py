"""The two kinds of evidence that a question is answered from, and what the reader answered from each."""

from __future__ import annotations

from app.blocks.block import Block, Facts, Span, Target
from app.blocks.model_text import one_line
from app.methods.cells import outcome_cell
from app.state.gflownet import EvidenceRow, GFlowNetState

PATHS, TRIPLES = "gflownet", "triples"
EVIDENCE = {PATHS: "sampled paths", TRIPLES: "the best-scored triples"}
"""In words, by the method of the events; paths first."""


def evidence_name(method: str) -> str:
    """A kind of evidence in words."""
    return EVIDENCE.get(method, method)


def answers_to(state: GFlowNetState, sample_id: str) -> list[EvidenceRow]:
    """A question's answers, the one from sampled paths first."""
    rows = (state.answers.find((sample_id, method)) for method in EVIDENCE)
    return [row for row in rows if row is not None]


def reader_answers(state: GFlowNetState, sample_id: str) -> list[Block]:
    """A line for each answer; both lead to the case of the answers."""
    return [
        Facts([(f"from {evidence_name(row.method)}", (Span(f"{sign} ", tone), _link(row)))])
        for row in answers_to(state, sample_id)
        for sign, tone in [outcome_cell(row.hit)]
    ]


def _link(row: EvidenceRow) -> Span:
    return Span(one_line(row.answer) or "(no answer)", target=Target("evidence", row.sample_id))
