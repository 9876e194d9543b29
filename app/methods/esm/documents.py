"""Pages of documents about what no table has a row for: an answer, and what was tried in place of a decision."""

from __future__ import annotations

from app.blocks.block import Block, Changes, Heading, Paragraph, Table, facts, writing
from app.methods.esm.answers import answers_line, answers_of, whole_blocks
from app.methods.source import CaseSource
from app.wording.figures import fixed, outcome_words
from engine.events import ExampleEvaluated, TriedAnswer, WhatIfTried


def evaluated(event: ExampleEvaluated, source: CaseSource) -> list[Block]:
    """An example's answer, beside greedy's."""
    answers = answers_of(event.method, event.example, source)._replace(steered=event)
    return [
        Heading("Question", 4),
        writing(event.question),
        facts([("answers", answers_line(answers))]),
        *whole_blocks(answers),
    ]


def what_if(event: WhatIfTried, source: CaseSource) -> list[Block]:
    """An answer under other choices."""
    yours = [(f"yours, α {fixed(answer.alpha)}", answer) for answer in event.yours]
    tried = [("committed", event.committed), ("null", event.null), *yours]
    rows = [
        (name, answer.pred, outcome_words(answer.correct), str(answer.tokens_used)) for name, answer in tried
    ]
    injected = " + ".join(map(source.state.esm.entry_name, event.entries)) or "nothing (null)"
    onward = "here and at all later control points" if event.onward else "here only"
    blocks: list[Block] = [
        Heading("Question", 4),
        writing(event.question),
        facts([("right answer", event.gold), ("tried", f"{injected}, {onward}")]),
        Table(("choice", "answer", "verdict", "tokens"), rows, 1),
    ]
    if not event.exact:
        blocks.append(Paragraph(f"The recorded answer was not repeated: {event.difference}"))
    return [*blocks, *(block for choice in yours for block in _beside(*choice, event.committed))]


def _beside(name: str, answer: TriedAnswer, committed: TriedAnswer) -> list[Block]:
    if answer.text == committed.text:
        return [Heading(f"{name}: the committed text", 4), writing(answer.text)]
    return [Changes(answer.text, committed.text, (name, "committed"))]
