"""The two kinds of evidence that a question is answered from, and what the reader answered from each."""

from __future__ import annotations

from collections.abc import Sequence

from app.blocks.block import Beside, Block, Heading, Paragraph, Span, Words, writing
from app.methods.cells import outcome_cell
from app.wording.text import counted
from engine.events import EvidenceAnswered

PATHS, TRIPLES = "gflownet", "triples"
EVIDENCE = {PATHS: "sampled paths", TRIPLES: "the best-scored triples"}
"""In words, by the method of the events; paths first."""


def evidence_name(method: str) -> str:
    """A kind of evidence in words."""
    return EVIDENCE.get(method, method)


def answer_words(event: EvidenceAnswered) -> Words:
    """The answer behind its sign, and how much evidence it was read from."""
    answer = ", ".join(event.answer.split("\n")) or "(empty)"
    text = f"no answer: {event.failure}" if event.failure else answer + " (cut off)" * event.cut
    evidence = f"   {counted(event.triples, 'triples')}, {counted(event.prompt_tokens, 'tokens')}"
    sign, tone = outcome_cell(event.hit)
    return Span(f"{sign} ", tone), text, Span(evidence, "dim")


def verdict_blocks(events: Sequence[EvidenceAnswered]) -> list[Block]:
    """Where one kind of evidence alone leads to a right answer."""
    hits = {event.method: event.hit for event in events}
    if len(hits) < 2 or hits[PATHS] == hits[TRIPLES]:
        return []
    if hits[PATHS]:
        return [Paragraph("▲ only the sampled paths lead to a right answer", "good")]
    return [Paragraph("▼ only the best-scored triples lead to a right answer", "bad")]


def prompt_blocks(events: Sequence[EvidenceAnswered]) -> list[Block]:
    """What the reader got: where there is room, beside each other."""
    stories: list[list[Block]] = [
        [Heading(f"what the reader got: {evidence_name(event.method)}", 4), writing(event.prompt, "dim")]
        for event in events
        if event.prompt
    ]
    if len(stories) == 2:
        return [Beside(stories[0], stories[1])]
    return [block for story in stories for block in story]
