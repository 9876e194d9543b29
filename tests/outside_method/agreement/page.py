"""What it shows: a row a question, and the samples' agreement in full."""

from __future__ import annotations

from collections.abc import Sequence

from agreement.events import AgreementMeasured
from agreement.state import AgreementState, Row
from app.blocks.block import Block, Paragraph, Table
from app.methods.cases import Cases
from app.methods.overview import Highlight, Overview
from app.methods.page import MethodPage
from app.methods.place import Place
from app.methods.source import CaseSource
from app.methods.what_if import Choice, Field, WhatIf, answers_of, whole
from app.state.columns import AppendOnlyList
from app.state.run import RunState
from app.table.column import ListColumn
from app.wording.figures import fixed

COLUMNS: Sequence[ListColumn[Row]] = (
    ListColumn("example", "question", 14, flex=True, name=True, value=lambda row: row.example),
    ListColumn("answer", "answer", 8, value=lambda row: row.answer),
    ListColumn("share", "share", 6, "right", value=lambda row: row.share, show=fixed),
)


def rows(state: RunState) -> AppendOnlyList[Row]:
    """The rows of the run at the moment looked at."""
    agreement = state.others["agreement"]
    assert isinstance(agreement, AgreementState)
    return agreement.rows


def question_blocks(event: AgreementMeasured, source: CaseSource) -> list[Block]:
    """How many samples agree."""
    return [Paragraph(f"{event.answer}: {event.share:.0%} of {event.samples} samples")]


QUESTIONS: Cases[Row] = Cases(
    name="questions",
    columns=COLUMNS,
    rows=rows,
    event=AgreementMeasured,
    words=lambda event: f"samples of {event.example}",
    draw=question_blocks,
    empty="No question has been sampled yet.",
)


def choice(event: AgreementMeasured, source: CaseSource) -> Choice:
    """Another number of samples."""
    return Choice(
        f"{event.example} · {event.samples} samples",
        [[Field("samples", "samples", str(event.samples), whole(2, 100))]],
        lambda values: {"example": event.example, **values},
        lambda tried: answers_of(tried, lambda answer: [Paragraph(f"{answer.tokens} tokens", "dim")]),
    )


def least_agreement(state: RunState) -> list[Highlight]:
    """The question on which the samples differ most."""
    shares = [row.share for row in rows(state)]
    if not shares:
        return []
    least = shares.index(min(shares))
    text = f"the question whose samples agree least: {shares[least]:.0%}"
    return [Highlight(text, Place(QUESTIONS.name, least, open=True))]


def results(state: RunState) -> list[Block]:
    """How far the samples agree on average."""
    shares = [row.share for row in rows(state)]
    if not shares:
        return []
    return [Table(("questions", "mean share"), [(str(len(shares)), fixed(sum(shares) / len(shares)))], 2)]


PAGE = MethodPage(
    title="Agreement",
    about="Samples each answer several times, and counts how many agree.",
    help="# Agreement\n\nHow far several samples of an answer agree.",
    shown_by={"agreement": "questions"},
    cases=(QUESTIONS,),
    results=results,
    what_if=WhatIf("agreement", "# What if: other samples\n", {AgreementMeasured: choice}),
    overview=Overview(highlights=least_agreement),
)
