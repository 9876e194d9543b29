"""A held-out question answered twice by the same reader at one token budget: from sampled paths, and from the
best-scored triples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from app.blocks.block import Beside, Block, Facts, Heading, Paragraph, Span, Target, Words, writing
from app.blocks.model_text import one_line
from app.methods.cases import Cases
from app.methods.cells import outcome_cell, turned_cell
from app.methods.gflownet.evidence import PATHS, TRIPLES, answers_to, evidence_name
from app.methods.source import CaseSource
from app.state.gflownet import EvidenceRow, GFlowNetState
from app.state.method import Place
from app.state.run import RunState
from app.table.column import ListColumn
from app.wording.text import counted
from engine.events import EvidenceAnswered

_EMPTY = """No question has been answered yet.

Every held-out question is answered twice by the same reader at the same token budget: from the
sampled paths, and from the triples that the retriever scores highest."""


class AnswerPair(NamedTuple):
    """A question's answers from both kinds of evidence; one of them may still be missing."""

    question: str
    sample_id: str
    paths: EvidenceRow | None
    triples: EvidenceRow | None

    @property
    def places(self) -> list[Place]:
        """Where its answers stand in the log, the first one first: the row is found by each of them."""
        return sorted(row.place for row in (self.paths, self.triples) if row is not None)

    @property
    def place(self) -> Place:
        """Where the first one stands."""
        return self.places[0]

    @property
    def sign(self) -> int:
        """1 where paths alone lead to a right answer, -1 where triples alone do."""
        if self.paths is None or self.triples is None:
            return 0
        return int(self.paths.hit) - int(self.triples.hit)


def answer_pairs(state: GFlowNetState) -> list[AnswerPair]:
    """The questions that were answered, in the order of the log."""
    rows: dict[str, dict[str, EvidenceRow]] = {}
    for row in state.answers:
        rows.setdefault(row.sample_id, {})[row.method] = row
    return [
        AnswerPair(next(iter(answers.values())).question, sample_id, answers.get(PATHS), answers.get(TRIPLES))
        for sample_id, answers in rows.items()
    ]


def _hit(row: EvidenceRow | None) -> bool | None:
    return None if row is None else row.hit


COLUMNS: Sequence[ListColumn[AnswerPair]] = (
    ListColumn("paths", "paths", 5, priority=0, help="answered from sampled paths: ✓ names a right answer",
               value=lambda p: _hit(p.paths), show=outcome_cell),
    ListColumn("sign", "±", 1, priority=0, help="▲ right from paths and not from triples, ▼ the other way round",
               show=turned_cell),
    ListColumn("triples", "triples", 7, priority=0, help="answered from the best-scored triples",
               value=lambda p: _hit(p.triples), show=outcome_cell),
    ListColumn("question", "question", 28, flex=True, show=one_line),
    ListColumn("answer", "answer from paths", 18, flex=True, priority=2,
               value=lambda p: "" if p.paths is None else p.paths.answer, show=one_line),
    ListColumn("sample_id", "id", 12, priority=4, name=True),
)  # fmt: skip


def _remark(state: RunState) -> str:
    signs = [pair.sign for pair in answer_pairs(state.gflownet)]
    only = f"▲ {signs.count(1):,} right from paths only, ▼ {signs.count(-1):,} from triples only"
    return only if any(signs) else ""


def answer_blocks(event: EvidenceAnswered, source: CaseSource) -> list[Block]:
    """The question, both answers, then both prompts beside each other."""
    rows = answers_to(source.state.gflownet, event.sample_id)
    read = [source.at(row.place, EvidenceAnswered) for row in rows]
    events = [answered for answered in read if answered is not None] or [event]
    return [
        Paragraph((Span(event.question, "strong"), Span(f"   {event.sample_id}", "dim"))),
        Facts([(f"from {evidence_name(each.method)}", _answer_words(each)) for each in events]),
        Facts([("right", ", ".join(event.golds))]),
        *_verdict({each.method: each.hit for each in events}),
        *_paths_link(source.state.gflownet, event.sample_id),
        *_prompts(events),
    ]


def _answer_words(event: EvidenceAnswered) -> Words:
    """The answer behind its sign, and how much evidence it was read from."""
    answer = ", ".join(event.answer.split("\n")) or "(empty)"
    text = f"no answer: {event.failure}" if event.failure else answer + " (cut off)" * event.cut
    evidence = f"   {counted(event.triples, 'triples')}, {counted(event.prompt_tokens, 'tokens')}"
    sign, tone = outcome_cell(event.hit)
    return Span(f"{sign} ", tone), text, Span(evidence, "dim")


def _verdict(hits: dict[str, bool]) -> list[Block]:
    if len(hits) < 2 or hits[PATHS] == hits[TRIPLES]:
        return []
    if hits[PATHS]:
        return [Paragraph("▲ only the sampled paths lead to a right answer", "good")]
    return [Paragraph("▼ only the best-scored triples lead to a right answer", "bad")]


def _paths_link(state: GFlowNetState, sample_id: str) -> list[Block]:
    if state.questions.find(sample_id) is None:
        return []
    return [Paragraph(Span("the paths that were sampled", "accent", Target("question", sample_id)))]


def _prompts(events: Sequence[EvidenceAnswered]) -> list[Block]:
    """What the reader got: where there is room, beside each other."""
    stories = [_prompt(event) for event in events if event.prompt]
    return (
        [Beside(stories[0], stories[1])]
        if len(stories) == 2
        else [block for story in stories for block in story]
    )


def _prompt(event: EvidenceAnswered) -> list[Block]:
    return [Heading(f"what the reader got: {evidence_name(event.method)}", 4), writing(event.prompt, "dim")]


ANSWERS: Cases[AnswerPair] = Cases(
    name="answers",
    columns=COLUMNS,
    rows=lambda state: answer_pairs(state.gflownet),
    event=EvidenceAnswered,
    words=lambda event: f"answer to {event.sample_id} from {evidence_name(event.method)}",
    draw=answer_blocks,
    empty=_EMPTY,
    notable=lambda state, pair: pair.sign != 0,
    notable_words="question that is right from paths only, or from triples only",
    remark=_remark,
)
