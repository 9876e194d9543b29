"""Whether a score is comparable with published ones stands beside it: below the table and on the screen."""

from __future__ import annotations

from collections import defaultdict
from io import StringIO

from rich.console import Console
from rich.style import Style

from app.result_tables.slsm import tables
from app.state.run import RunState
from engine.events import BoardCompared, BoardPoint
from screens.slsm.modes import draw_modes
from tests.synthetic_slsm import slsm_events


def test_it_stands_beside_the_scores() -> None:
    state = RunState()
    for event in slsm_events():
        state.apply(event)
    assert "published" not in str(tables(state)[0].caption), "generated conversations have no board"
    points = [
        BoardPoint(what="judge", here="gpt-4o", board="gpt-4o-2024-08-06", same=False),
        BoardPoint(what="conversations", here="273", board="273", same=True),
    ]
    state.slsm.board = BoardCompared(points=points)
    said = "Not comparable with published scores (judge: gpt-4o, not gpt-4o-2024-08-06)."
    assert str(tables(state)[0].caption).endswith(f"\n{said}\nAs published: conversations 273.")
    console = Console(width=200, record=True, file=StringIO())
    styles: dict[str, Style] = defaultdict(Style)
    console.print(draw_modes(state.slsm, styles))
    assert said in console.export_text()
