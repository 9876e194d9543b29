"""A request that has ended, with its answer and what the levers did."""

from __future__ import annotations

from collections.abc import Sequence

from app.blocks.block import Block, Heading, Paragraph, Span, Writing
from app.blocks.model_text import one_line
from app.methods.cases import Cases
from app.methods.source import CaseSource
from app.state.serve import RequestRow
from app.table.column import Cell, ListColumn, Tone
from app.wording.figures import fixed
from engine.events import RequestAnswered

_EMPTY = """No request has been answered yet.

The tab Server says how to ask."""
_TONES: dict[str, Tone] = {"answered": "good", "vanished": "dim", "failed": "bad"}
_LEAST_WAIT = 0.1
"""Seconds from which waiting for a place is worth a word."""


def _seconds(value: float | None) -> Cell:
    return Cell("–", "dim") if value is None else Cell(fixed(value, 2))


COLUMNS: Sequence[ListColumn[RequestRow]] = (
    ListColumn("request", "request", 12, priority=5, name=True),
    ListColumn("outcome", "outcome", 8, help="vanished: its client left before the end",
               show=lambda text: Cell(text, _TONES.get(text, ""))),
    ListColumn("steered", "steered", 7, "right", 1, help="segments with a vector, of all",
               value=lambda r: (r.steered, r.segments),
               show=lambda n: Cell(f"{n[0]}/{n[1]}", "accent" if n[0] else "dim")),
    ListColumn("tokens", "tokens", 6, "right", 2, help="of the answer"),
    ListColumn("probe", "probes", 6, "right", 6, help="tokens of probes, and of a first answer that was given up",
               value=lambda r: r.probe_tokens),
    ListColumn("first", "first s", 7, "right", 4, help="seconds to the first text", show=_seconds),
    ListColumn("seconds", "seconds", 7, "right", 3, help="seconds to the end", show=_seconds),
    ListColumn("question", "question", 16, flex=True, priority=1, show=one_line),
)  # fmt: skip


def request_blocks(event: RequestAnswered, source: CaseSource) -> list[Block]:
    """Question, answer, and a sentence for each lever."""
    row = source.state.serve.ended.find(event.request)
    question = row.question if row is not None else ""
    why = f": {event.why}" if event.why else f", {event.finish}" if event.finish else ""
    about = "" if row is None else f"   {row.kind}, {row.prompt_tokens:,} + {event.tokens:,} tokens"
    if row is not None and row.waited >= _LEAST_WAIT:
        about += f", waited {row.waited:.1f} s for a place"
    outcome = Span(f"{event.outcome}{why}", _TONES.get(event.outcome, "dim"))
    blocks: list[Block] = [
        Heading("question", 4),
        Writing(question or "(not logged)"),
        Heading("answer", 4),
        Writing(event.text or "(not logged)"),
        Paragraph((outcome, Span(about, "dim"))),
    ]
    if event.did:
        blocks.append(Heading("what the levers did", 4))
    for did in event.did:
        cost = Span(f"   {did.tokens:,} tokens" if did.tokens else "", "dim")
        blocks.append(
            Paragraph((Span(f"{did.lever}  ", "strong"), Span(did.what, "" if did.acted else "dim"), cost))
        )
    return blocks


REQUESTS: Cases[RequestRow] = Cases(
    name="requests",
    columns=COLUMNS,
    rows=lambda state: state.serve.ended,
    event=RequestAnswered,
    words=lambda event: f"request {event.request}",
    draw=request_blocks,
    empty=_EMPTY,
)
