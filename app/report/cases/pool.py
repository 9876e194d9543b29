"""Pool: a training query with its pairs of demonstrations; what each method picked for a held-out query."""

from __future__ import annotations

from app.blocks.block import Block, Heading, Paragraph, Table, facts, writing
from app.figures import fixed
from app.report.source import CaseSource
from engine.events import PoolQueryDone, SelectorPicked

_MOST = 30


def query(event: PoolQueryDone, source: CaseSource) -> list[Block]:
    """The query, its oracles, and the pairs it ends with."""
    ordered = sorted(event.trajectories, key=lambda t: (not t.kept, -(t.score or 0.0)))
    rows = [
        (
            f"{t.pair[0]}, {t.pair[1]}", t.verdict + (f" ({t.rule})" if t.rule else ""), t.origin, t.answer,
            str(t.kept), fixed(t.score, 2),
        )
        for t in ordered[:_MOST]
    ]  # fmt: skip
    blocks: list[Block] = [
        Heading("Question", 4),
        writing(event.question),
        facts(
            [
                ("people said", _said(event.answers)),
                ("best pair that came with the data", fixed(event.oracle_before)),
                ("best pair of the pool before injection", fixed(event.oracle_inside)),
                ("best pair after injection", fixed(event.oracle_after)),
                ("asked", f"{event.asked} pairs, {event.failed} failed"),
                ("warning", event.warning),
            ]
        ),
        Heading("Pairs of demonstrations", 4),
        Table(("rows", "verdict", "made by", "answer", "kept", "score"), rows, 2),
    ]
    if len(ordered) > _MOST:
        blocks.append(Paragraph(f"{len(ordered) - _MOST} more pairs are in the log.", "dim"))
    return blocks


def picked(event: SelectorPicked, source: CaseSource) -> list[Block]:
    """The query and every method's pick."""
    rows = [
        (
            pick.method,
            ", ".join(map(str, pick.pair)),
            pick.answer,
            fixed(pick.probability),
            fixed(pick.score, 2),
        )
        for pick in event.picks
    ]
    return [
        Heading("Question", 4),
        writing(event.question),
        facts([("people said", _said(event.answers))]),
        Table(("method", "rows", "answer", "probability", "score"), rows, 2),
    ]


def _said(answers: dict[str, int]) -> str:
    return ", ".join(f"{answer} ({count})" for answer, count in answers.items())
