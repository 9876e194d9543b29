"""A held-out query: the demonstrations that each method picked for it, and the model's answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from app.blocks.block import Block, Paragraph, Span, Table, Words
from app.blocks.model_text import one_line
from app.methods.cases import Cases
from app.methods.cells import digits, turned_cell
from app.methods.pool.scores import answers_line, score_cell, score_span
from app.methods.source import CaseSource
from app.state.pool import PickRow
from app.table.column import ListColumn
from app.wording.figures import fixed
from app.wording.words import method_name
from engine.events import SelectorCompared, SelectorPick, SelectorPicked

_ORDER = ("selector", "rices", "random")
ByMethod = TypeVar("ByMethod", SelectorPick, SelectorCompared)
_EMPTY = """There are no picks yet.

When the selector is trained, every held-out query gets a row here, with the pair that each
method picked for it, and the model's answer."""


COLUMNS: Sequence[ListColumn[PickRow]] = (
    ListColumn("query_id", "query", 12, priority=2, name=True),
    ListColumn("selector", "selector", 8, show=score_cell),
    ListColumn("against", "±", 1, help="▲ the selector scores more than RICES, ▼ less",
               value=lambda q: q.sign("selector"), show=turned_cell),
    ListColumn("rices", "RICES", 8, help="the two most similar candidates", show=score_cell),
    ListColumn("random", "random", 6, "right", 3, help="mean over its draws", show=digits(2)),
    ListColumn("question", "question", 16, flex=True, priority=5, show=one_line),
)  # fmt: skip


def in_order(rows: Iterable[ByMethod]) -> list[ByMethod]:
    """The selector's first, then those it is compared with."""
    return sorted(rows, key=lambda row: _ORDER.index(row.method) if row.method in _ORDER else len(_ORDER))


def picked_blocks(event: SelectorPicked, source: CaseSource) -> list[Block]:
    """The question, then each pick: the pair in the prompt's order, the answer, its score."""
    words: list[Words] = [
        (Span(event.question, "strong"), Span(f"   {event.query_id}", "dim")),
        (Span("people answered ", "dim"), answers_line(event.answers)),
    ]
    return [*map(Paragraph, words), _table(in_order(event.picks))]


def _answer(pick: SelectorPick) -> Words:
    answer = "the model failed" if pick.score is None else one_line(pick.answer)
    return score_span(pick.score), f"  {answer}"


def _table(picks: Sequence[SelectorPick]) -> Table:
    rows: list[Sequence[Words]] = [
        (
            method_name(p.method), ", ".join(map(str, p.pair)), ", ".join(map(str, p.pointer)), _answer(p),
            fixed(p.probability),
        )
        for p in picks
    ]  # fmt: skip
    header = ("picked by", "rows", "places", "score and answer", "probability")
    return Table(header, rows, 1, notes=["rows: of the embedding table; places: in the query's pool"])


PICKS: Cases[PickRow] = Cases(
    name="picks",
    columns=COLUMNS,
    rows=lambda state: state.pool.picks,
    event=SelectorPicked,
    words=lambda event: f"picks for {event.query_id}",
    draw=picked_blocks,
    empty=_EMPTY,
    notable=lambda state, row: row.sign("selector") != 0,
    notable_words="query on which the selector's pick is better or worse than that of RICES",
)
