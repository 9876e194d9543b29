"""What if: a query answered with other demonstrations, or with none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.blocks.block import Block, Paragraph, Span, Table
from app.blocks.model_text import one_line
from app.methods.pool.picks import in_order
from app.methods.pool.scores import answers_line, score_span
from app.methods.source import CaseSource
from app.methods.what_if import Answers, Choice, Field, WhatIf, answers_of, of_list, words_of
from app.wording.words import method_name
from engine.events import AnswerTried, OtherAnswer, PoolQueryDone, SelectorPicked

_HELP = """\
# What if: other demonstrations

Asks the model the query again with other demonstrations, and with none. `enter` tries what the field says: numbers of
the list below, or two rows of the table in the prompt's order, such as `12+340`; several pairs, separated by spaces,
are tried at once. Three answers stand side by side: with the pair of the run (*committed*), with *no demonstration*,
and with *yours*.
"""
_HINT = "numbers of the list, or two rows such as 12+340"


@dataclass(frozen=True)
class KnownPair:
    """Two demonstrations whose answer the run knows: `rows` of the table, in the prompt's order; `words`: where they
    come from."""

    rows: tuple[int, int]
    words: str
    score: float | None
    answer: str


def of_query(event: PoolQueryDone, source: CaseSource) -> Choice | str:
    """A training query; the best pair that was asked is held against the others."""
    if not event.trajectories:
        return "The query has no trajectories."
    asked = [t for t in event.trajectories if t.verdict != "given"] or event.trajectories
    best = max(asked, key=lambda t: -1.0 if t.score is None else t.score)
    others = [t for t in event.trajectories if t is not best]
    return _choice(
        event, [KnownPair(t.pair, t.rule or t.verdict, t.score, t.answer) for t in (best, *others)]
    )


def of_picks(event: SelectorPicked, source: CaseSource) -> Choice | str:
    """A held-out query; the selector's pick is held against the others."""
    pairs = [
        KnownPair((p.pair[0], p.pair[1]), method_name(p.method), p.score, p.answer)
        for p in in_order(event.picks)
    ]
    return _choice(event, pairs) if pairs else "No method picked a pair for this query."


WHAT_IF = WhatIf("pool", _HELP, {PoolQueryDone: of_query, SelectorPicked: of_picks})


def _choice(event: PoolQueryDone | SelectorPicked, pairs: Sequence[KnownPair]) -> Choice:
    recorded, first = list(pairs[0].rows), "2" if len(pairs) > 1 else ""
    return Choice(
        f"{event.query_id} · {pairs[0].words}: rows {recorded[0]} and {recorded[1]}\n{one_line(event.question)}\n"
        f"people answered {answers_line(event.answers)}",
        [[Field("pairs", "demonstrations", first, lambda text: _pairs(text, pairs), _HINT, 0)]],
        lambda values: {"query": event.query_id, "recorded": recorded, **values},
        _answers,
        lambda tried: [_known(pairs)],
    )


def _pairs(text: str, known: Sequence[KnownPair]) -> list[list[int]]:
    if not text:
        raise ValueError(_HINT)
    names = [f"{pair.rows[0]}+{pair.rows[1]}" for pair in known]
    return [_rows(of_list(word, names) if word.isdecimal() else word) for word in words_of(text)]


def _rows(word: str) -> list[int]:
    first, _, second = word.partition("+")
    if not (first.isdecimal() and second.isdecimal()):
        raise ValueError(f"{_HINT}; found {word!r}")
    return [int(first), int(second)]


def _answers(tried: AnswerTried) -> Answers:
    def about(answer: OtherAnswer) -> list[Block]:
        score = Paragraph([score_span(answer.score), Span("  VQA accuracy", "dim")])
        return [score, Paragraph(one_line(answer.verdict), "warn")] if answer.verdict else [score]

    return answers_of(tried, about)


def _known(pairs: Sequence[KnownPair]) -> Table:
    rows = [
        (
            str(number),
            f"{pair.rows[0]} {pair.rows[1]}",
            score_span(pair.score),
            one_line(pair.answer),
            Span(pair.words, "dim"),
        )
        for number, pair in enumerate(pairs, 1)
    ]
    return Table(("no", "rows", "score", "answer", "from"), rows)
