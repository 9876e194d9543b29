"""Whether a score is comparable with published ones stands beside it: with the table, on the screen as in batch."""

from __future__ import annotations

from app.blocks.block import Table
from app.methods.slsm.results import scores
from app.state.run import RunState
from engine.events import BoardCompared, BoardPoint
from tests.synthetic_slsm import slsm_events


def notes(state: RunState) -> list[str]:
    [table] = [block for block in scores(state.slsm) if isinstance(block, Table)]
    return list(table.notes)


def test_it_stands_beside_the_scores() -> None:
    state = RunState()
    for event in slsm_events():
        state.apply(event)
    assert notes(state) == [], "generated conversations have no board"
    points = [
        BoardPoint(what="judge", here="gpt-4o", board="gpt-4o-2024-08-06", same=False),
        BoardPoint(what="conversations", here="273", board="273", same=True),
    ]
    state.slsm.board = BoardCompared(points=points)
    assert notes(state) == [
        "Not comparable with published scores (judge: gpt-4o, not gpt-4o-2024-08-06).",
        "As published: conversations 273.",
    ]
